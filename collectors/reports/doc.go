// Package reports reads OBS_REPORT: what agents choose to say about their work (SPEC 1). Reports are claims of programs and their text
// is untrusted.
package reports
