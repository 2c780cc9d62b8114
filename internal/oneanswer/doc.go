// Package oneanswer holds tests that ask pages, the JSON API and the metrics the same question over one store, and compare the answers.
package oneanswer
