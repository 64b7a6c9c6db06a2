package existing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
)

// PluginCommand is the hidden command of holdfast that runs a credential plugin: see RunPlugin.
const PluginCommand = "credential-plugin"

// PluginLimit is how long a credential plugin may take. One that asks a cloud takes some seconds, and one that opens a browser waits for a
// person.
const PluginLimit = time.Minute

// noInput is what client-go says of a plugin that insists on a person.
const noInput = "holdfast asks nobody: log in first, for example with 'kubectl get namespaces' on the same context"

// transport makes the transport of a kubeconfig's configuration, and remembers the configuration.
//
// A credential plugin has no standard input, so that one that may ask a person does not, and one that must fails at once. It runs below holdfast's
// own command, which ends it after PluginLimit: client-go would wait for it for ever, and with it all watches.
func (a *Access) transport(config *rest.Config) (http.RoundTripper, error) {
	a.read = rest.CopyConfig(config)
	config = rest.CopyConfig(config)
	if p := config.ExecProvider; p != nil {
		p = p.DeepCopy()
		p.StdinUnavailable, p.StdinUnavailableMessage = true, noInput
		if a.flags.Executable != "" {
			p.Args = append([]string{PluginCommand, p.Command}, p.Args...)
			p.Command = a.flags.Executable
		}
		config.ExecProvider = p
	}
	made, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig: %w", err)
	}
	return made, nil
}

// RunPlugin runs a credential plugin for client-go, which has set its environment, and ends it after a limit. The plugin is in a session of its
// own, without a terminal: it cannot ask for a password there. What it writes to standard error reaches the user.
func RunPlugin(ctx context.Context, limit time.Duration, command []string, out, errs io.Writer) error {
	if len(command) == 0 {
		return errors.New("run a credential plugin: none is named")
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // with what it has started
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the credential plugin %s gave no credentials within %s: it may wait for a person; %s", command[0], limit, noInput)
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("the credential plugin %s of the kubeconfig is not installed: %w", command[0], err)
	case err != nil:
		return fmt.Errorf("the credential plugin %s of the kubeconfig: %w", command[0], err)
	}
	return nil
}
