package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// managerAPI speaks the broker's management API in raw JSON, so that an update sends back every field of a stream as it was read,
// those that this client library does not know included.
type managerAPI struct {
	nc     *nats.Conn
	prefix string
}

const apiTimeout = 10 * time.Second

func newManagerAPI(js jetstream.JetStream) *managerAPI {
	opts := js.Options()
	prefix := opts.APIPrefix
	if opts.Domain != "" {
		prefix = "$JS." + opts.Domain + ".API."
	}
	if prefix == "" {
		prefix = "$JS.API."
	}
	return &managerAPI{nc: js.Conn(), prefix: strings.TrimSuffix(prefix, ".") + "."}
}

// call asks the broker. A nil request is sent without a body, which some questions insist on; a nil reply drops what the broker says.
func (a *managerAPI) call(ctx context.Context, subject string, request, reply any) error {
	var body []byte
	if request != nil {
		var err error
		if body, err = json.Marshal(request); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	msg, err := a.nc.RequestWithContext(ctx, a.prefix+subject, body)
	if err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	var failure struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(msg.Data, &failure); err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	if failure.Error != nil {
		return fmt.Errorf("%s: %w", subject, failure.Error)
	}
	if reply == nil {
		return nil
	}
	if err := decodeNumbers(msg.Data, reply); err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	return nil
}

// level is the API level of the broker, which counts what its JetStream can do. Versions before 2.11 have none: zero.
func (a *managerAPI) level(ctx context.Context) (int, error) {
	var account struct {
		API struct {
			Level int `json:"level"`
		} `json:"api"`
	}
	err := a.call(ctx, "INFO", nil, &account)
	return account.API.Level, err
}

// streams reads the configuration of every stream, by name.
func (a *managerAPI) streams(ctx context.Context) (map[string]map[string]any, error) {
	all := map[string]map[string]any{}
	for offset := 0; ; {
		var page struct {
			Total   int `json:"total"`
			Streams []struct {
				Config map[string]any `json:"config"`
			} `json:"streams"`
		}
		if err := a.call(ctx, "STREAM.LIST", map[string]int{"offset": offset}, &page); err != nil {
			return nil, err
		}
		for _, s := range page.Streams {
			all[fmt.Sprint(s.Config["name"])] = s.Config
		}
		offset += len(page.Streams)
		if len(page.Streams) == 0 || offset >= page.Total {
			return all, nil
		}
	}
}

func (a *managerAPI) createStream(ctx context.Context, config map[string]any) error {
	return a.call(ctx, fmt.Sprintf("STREAM.CREATE.%s", config["name"]), config, nil)
}

func (a *managerAPI) updateStream(ctx context.Context, config map[string]any) error {
	return a.call(ctx, fmt.Sprintf("STREAM.UPDATE.%s", config["name"]), config, nil)
}

// workerAdvice looks at the consumers of TASKS. They belong to the agents, so nothing is changed.
func (a *managerAPI) workerAdvice(ctx context.Context, existing map[string]map[string]any) ([]Advice, error) {
	if existing[StreamTasks] == nil {
		return nil, nil
	}
	var advice []Advice
	for offset := 0; ; {
		var page struct {
			Total     int `json:"total"`
			Consumers []struct {
				Name   string                   `json:"name"`
				Config jetstream.ConsumerConfig `json:"config"`
			} `json:"consumers"`
		}
		if err := a.call(ctx, "CONSUMER.LIST."+StreamTasks, map[string]int{"offset": offset}, &page); err != nil {
			return nil, err
		}
		for _, c := range page.Consumers {
			advice = append(advice, adviseOn(c.Name, c.Config)...)
		}
		offset += len(page.Consumers)
		if len(page.Consumers) == 0 || offset >= page.Total {
			return advice, nil
		}
	}
}

func adviseOn(name string, cfg jetstream.ConsumerConfig) []Advice {
	if strings.TrimSuffix(cfg.SampleFrequency, "%") == "100" {
		return nil
	}
	return []Advice{{
		Object:  "consumer " + name + ": sample_freq",
		Why:     "without samples the broker does not confirm acknowledgements; every one is then only a claim",
		Command: fmt.Sprintf("nats consumer edit %s %s --sample 100", StreamTasks, name),
	}}
}

func decodeFields(b []byte) (map[string]any, error) {
	var fields map[string]any
	if err := decodeNumbers(b, &fields); err != nil {
		return nil, err
	}
	return fields, nil
}

// decodeNumbers keeps numbers as written: they go back to the broker unchanged.
func decodeNumbers(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(into)
}
