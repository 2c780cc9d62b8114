package fleet

import (
	"fmt"
	"slices"
	"strings"
)

// String is the plan for people: one block per object, + for what is created, ~ for what changes, = for what is kept although it
// differs, ! for what a person must decide.
func (p *Plan) String() string {
	var b strings.Builder
	for _, c := range p.Changes {
		c.print(&b)
	}
	for _, r := range p.Readers {
		fmt.Fprintf(&b, "+ create durable %s on %s\n", r.Durable(), r.Stream)
	}
	for _, r := range p.Surplus {
		fmt.Fprintf(&b, "- delete durable %s of %s, once what it did not read is handed over\n", r.Durable(), r.Stream)
	}
	p.SelfImport.print(&b, p.streams.Contract)
	for _, a := range p.Advice {
		fmt.Fprintf(&b, "advice: %s\n  %s\n  %s\n", a.Object, a.Why, a.Command)
	}
	if p.Empty() {
		b.WriteString("nothing to change\n")
	}
	return b.String()
}

func (c Change) print(b *strings.Builder) {
	verbs := map[Action]string{ActionCreate: "+ create", ActionUpdate: "~ update", ActionNone: "  as it should be:", ActionBlock: "! blocked:"}
	fmt.Fprintf(b, "%s %s\n", verbs[c.Action], c.object())
	for _, f := range c.Fields {
		if c.Action == ActionCreate || (c.Action == ActionBlock && f.Old == "") {
			fmt.Fprintf(b, "    + %s: %s\n", f.Field, f.New)
			continue
		}
		fmt.Fprintf(b, "    ~ %s: %s -> %s\n", f.Field, orNone(f.Old), orNone(f.New))
	}
	for _, f := range c.Kept {
		fmt.Fprintf(b, "    = %s: %s is kept (recommended: %s)\n", f.Field, orNone(f.Old), orNone(f.New))
	}
	for _, problem := range c.Problems {
		fmt.Fprintf(b, "    ! %s\n", problem)
	}
}

func (c Change) object() string {
	if c.Stream == recordsStream {
		return "bucket " + BucketIdempotency
	}
	return "stream " + c.Stream
}

func (s SelfImport) print(b *strings.Builder, c Contract) {
	switch {
	case s.Fed:
		fmt.Fprintf(b, "  as it should be: publish attempts to %s arrive under %s.>\n", c.TaskSubjects(), rawPrefix)
		return
	case s.Err != "":
		fmt.Fprintf(b, "! could not tell whether publish attempts arrive under %s.>: %s\n", rawPrefix, s.Err)
	default:
		fmt.Fprintf(b, "! publish attempts do not arrive under %s.>: duplicates will be seen by best effort only\n", rawPrefix)
	}
	fmt.Fprintf(b, "    add this to the fleet's account, then reload the servers (with JWT accounts: the same export and import by nsc; the local subject is then %s.$1.>):\n", rawPrefix)
	for line := range strings.SplitSeq(s.Snippet, "\n") {
		fmt.Fprintf(b, "      %s\n", line)
	}
}

// PermissionsText prints the least-privilege permissions in the syntax of nats-server. Each password is a variable: a broker does not start until
// somebody chooses one, and an entry without a password would let in whoever gives the name.
func (p *Plan) PermissionsText() string {
	var b strings.Builder
	for _, id := range p.Permissions {
		fmt.Fprintf(&b, "# %s\n", id.title())
		printUser(&b, id)
	}
	return b.String()
}

// JointPermissions are those of one user that may do what each of these identities may: the user to run Fleetglass with. An agent is named as "agent:cto",
// alone: its user is its own, and has a name of letters, digits, - and _. The operator alone is a user of its own too. An identity that does not exist is an error.
func (p *Plan) JointPermissions(names []string) (Identity, error) {
	if len(names) == 1 {
		if agent, is := strings.CutPrefix(names[0], identityAgent+":"); is && printableUser(agent) {
			return p.streams.AgentPermissions(agent), nil
		}
	}
	joint := Identity{Name: strings.Join(names, ", "), User: p.streams.user()}
	for _, name := range names {
		at := slices.IndexFunc(p.Permissions, func(id Identity) bool { return id.Name == name })
		if at < 0 || name == identityAgent {
			return joint, fmt.Errorf("there is no identity %q of this Fleetglass; choose from %s; or give one agent alone, such as agent:cto", name, strings.Join(p.identities(), ", "))
		}
		if len(names) == 1 && name == identityOperator {
			return p.Permissions[at], nil
		}
		joint.Publish = appendNew(joint.Publish, p.Permissions[at].Publish)
		joint.Subscribe = appendNew(joint.Subscribe, p.Permissions[at].Subscribe)
	}
	return joint, nil
}

// UserText prints the user of this identity in the syntax of nats-server.
func (id Identity) UserText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", id.title())
	printUser(&b, id)
	return b.String()
}

// CommandText prints the commands of the tool nsc that make the user of this identity, where accounts are JWTs. The permissions are those of
// a signing key: in the user's own JWT they are longer than what a broker takes from a client that connects.
func (id Identity) CommandText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n: \"${SIGNING_KEY:?make one with nsc edit account --sk generate, which prints it}\"\n", id.title())
	fmt.Fprintf(&b, "nsc edit signing-key --sk \"$SIGNING_KEY\" --role %s", id.User)
	for _, s := range id.Publish {
		fmt.Fprintf(&b, " \\\n  --allow-pub '%s'", s)
	}
	for _, s := range id.Subscribe {
		fmt.Fprintf(&b, " \\\n  --allow-sub '%s'", s)
	}
	fmt.Fprintf(&b, "\nnsc add user --name %s --private-key %s\n", id.User, id.User)
	return b.String()
}

// title heads what is printed of one user.
func (id Identity) title() string {
	if id.Purpose == "" {
		return id.Name
	}
	return id.Name + ": " + id.Purpose
}

// identities are the names of those that one user may join.
func (p *Plan) identities() (names []string) {
	for _, id := range p.Permissions {
		if id.Name != identityAgent {
			names = append(names, id.Name)
		}
	}
	return names
}

// printableUser reports whether a name can stand in the broker's configuration, in a command and in the name of a variable as it is.
func printableUser(name string) bool {
	letters := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return name != "" && strings.Contains(letters, name[:1]) && strings.Trim(name, letters+"0123456789-_") == ""
}

func appendNew(all, more []string) []string {
	for _, s := range more {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

func printUser(b *strings.Builder, id Identity) {
	variable := strings.ToUpper(strings.ReplaceAll(id.User, "-", "_")) + "_PASSWORD"
	fmt.Fprintf(b, "{ user: %s, password: $%s, permissions: {\n", id.User, variable)
	printSubjects(b, "publish", id.Publish)
	printSubjects(b, "subscribe", id.Subscribe)
	b.WriteString("} }\n")
}

func printSubjects(b *strings.Builder, verb string, subjects []string) {
	fmt.Fprintf(b, "  %s: [\n", verb)
	for _, s := range subjects {
		fmt.Fprintf(b, "    %q\n", s)
	}
	b.WriteString("  ]\n")
}
