// Package masking hides what nobody should read in what Fleetglass shows of messages: values of fields that are named like secrets, fields that the
// rules name, and texts that have the form of a token. It decides about texts only. Who shows a message asks it; what is stored stays whole,
// so that a retry sends the message as it was.
package masking
