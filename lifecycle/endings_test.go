package lifecycle

import "testing"

// Each of several consumers uses up its attempts, and the worker of one says that the work is done, whichever of them decides about the message.
func TestWhatOneOfSeveralWorkersSaysIsTold(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"marketing", "marketing-second"} {
		store := foldAll([][]Event{parseScenario(t, "published 0s seq=1 task=T msgid=T\n"+
			"delivered 1s seq=1 n=1 worker=marketing\ndelivered 1s seq=1 n=1 worker=marketing-second\ncompleted 2s task=T msgid=T n=1 agent="+agent+"\n"+
			"max_deliveries 5s seq=1 n=1 worker=marketing-second\nmax_deliveries 6s seq=1 n=1 worker=marketing\n")})
		m := MessageKey{Stream: StreamID{Name: "TASKS"}, Seq: 1}
		v, ends := JudgeEndings(*store.messages[m].Facts, *store.tasks["T"].Facts)
		if v.State != StateExhausted || !ends.ToldAt.Known() {
			t.Errorf("%s said that it is done: it is %s, told: %v", agent, v.State, ends.ToldAt.Known())
		}
	}
}
