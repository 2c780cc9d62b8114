package decision

// Steps is told before and after everything by which a relay changes something, so that tests can end it at each of these points. A nil one is told nothing.
type Steps func(point string)

// Do takes one step that changes something.
func (s Steps) Do(name string, step func() error) error {
	if s == nil {
		return step()
	}
	s("before " + name)
	err := step()
	s("after " + name)
	return err
}
