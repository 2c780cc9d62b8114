package fleet

import (
	"testing"

	"fleetglass/lifecycle"
)

// What is counted under [lifecycle.OtherNames] must be only what has no place of its own: no message can be of that type, or of that publisher.
func TestNoMessageCanChooseTheNameOfTheOthers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{lifecycle.OtherNames, "\u00a0other", "\t other", "\u200b other", "\x00 other", "\u2028 other"} {
		headers := map[string][]string{HeaderTaskType: {name}, HeaderPublisher: {name}}
		for _, task := range []Task{ReadTask(headers, nil, lifecycle.MessageKey{}), ReadTask(nil, []byte(`{"type":" other"}`), lifecycle.MessageKey{})} {
			if task.Type == lifecycle.OtherNames || task.Publisher == lifecycle.OtherNames {
				t.Errorf("%q is read as type %q of publisher %q", name, task.Type, task.Publisher)
			}
		}
	}
}
