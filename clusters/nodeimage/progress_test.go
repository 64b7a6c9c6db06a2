package nodeimage

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []Step
		s := steps{of: 3, tell: func(step Step) { told = append(told, step) }}
		last := func(after time.Duration, cached bool, err error) func(context.Context) (bool, error) {
			return func(context.Context) (bool, error) {
				time.Sleep(after)
				return cached, err
			}
		}
		stop := errors.New("no compiler")
		if err := s.do(t.Context(), "etcd", last(2500*time.Millisecond, false, nil)); err != nil {
			t.Error(err)
		}
		if err := s.do(t.Context(), "runc", last(0, true, nil)); err != nil {
			t.Error(err)
		}
		if err := s.do(t.Context(), "cni", last(0, false, stop)); !errors.Is(err, stop) || err.Error() != "cni: no compiler" {
			t.Errorf("got %v", err)
		}
		want := []Step{
			{1, 3, "etcd", Started, 0}, {1, 3, "etcd", Going, time.Second}, {1, 3, "etcd", Going, 2 * time.Second},
			{1, 3, "etcd", Done, 2500 * time.Millisecond},
			{2, 3, "runc", Started, 0}, {2, 3, "runc", Cached, 0},
			{3, 3, "cni", Started, 0}, {3, 3, "cni", Failed, 0},
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestLines(t *testing.T) {
	steps := []Step{
		{0, 0, "waiting", Started, 0},
		{1, 10, "rootfs", Started, 0},
		{2, 10, "etcd", Started, 0},
		{2, 10, "etcd", Going, 12 * time.Second},
		{2, 10, "etcd", Going, 30 * time.Second},
		{1, 10, "rootfs", Going, 31 * time.Second},
		{2, 10, "etcd", Going, 31 * time.Second},
		{2, 10, "etcd", Done, 33400 * time.Millisecond},
		{1, 10, "rootfs", Failed, 40 * time.Second},
		{3, 10, "runc", Cached, 0},
	}
	for _, c := range []struct {
		name     string
		terminal bool
		want     string
	}{
		{name: "plain", want: "waiting\n[ 1/10] rootfs\n[ 2/10] etcd\n[ 2/10] etcd: still running, 30s\n[ 1/10] rootfs: still running, 31s\n" +
			"[ 2/10] etcd: done in 33s\n[ 1/10] rootfs: failed in 40s\n[ 3/10] runc: from the cache\n"},
		{name: "terminal", terminal: true, want: "^waiting ...^[ 1/10] rootfs ...^[ 2/10] etcd ...^[ 2/10] etcd ... 12s^[ 2/10] etcd ... 30s" +
			"^[ 1/10] rootfs ... 31s^[ 2/10] etcd ... 31s^[ 2/10] etcd: done in 33s\n^[ 1/10] rootfs: failed in 40s\n^[ 3/10] runc: from the cache\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			report := Lines(&out, c.terminal)
			for _, step := range steps {
				report(step)
			}
			if diff := cmp.Diff(c.want, strings.ReplaceAll(out.String(), "\r\x1b[K", "^")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
