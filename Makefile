# holdfast: `make help` lists what there is to make.

SHELL := /bin/bash
.DEFAULT_GOAL := help

PROFILE ?= short
# The mode that most clusters have. In nftables mode, the kernel rejects a request now and then while rules change, which is a finding.
PROXY_MODE ?= iptables
RUNS    ?= 3
SOAK    ?= 100000
CACHE   ?= $(or $(HOLDFAST_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/holdfast)
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unversioned)
# Without debug information, which nothing here reads, compilers take a fifth less time.
export GOFLAGS := $(shell go env GOFLAGS 2>/dev/null) -gcflags=all=-dwarf=false
BUILD    = CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)"
MEASURE  = go test -count 1 -timeout 0 ./framework/scaling -run '^$$' -benchtime 1x -bench

# Pinned here and not in go.mod, so that who imports holdfast does not inherit these tools' dependencies.
GOLANGCI_LINT_VERSION := v2.15.0
GOLANGCI_LINT := $(CACHE)/tools/golangci-lint-$(GOLANGCI_LINT_VERSION)
ACTIONLINT_VERSION := v1.7.12
ACTIONLINT := $(CACHE)/tools/actionlint-$(ACTIONLINT_VERSION)
# go test says nothing of what was skipped, unless it says everything; gotestsum lists it at the end, with the reason.
GOTESTSUM_VERSION := v1.13.0
GOTESTSUM := $(CACHE)/tools/gotestsum-$(GOTESTSUM_VERSION)
# The newest of goreleaser that Go 1.26 compiles. It finds cyclonedx-gomod, which lists what an executable is made of, by its name.
GORELEASER_VERSION := v2.17.0
GORELEASER := $(CACHE)/tools/goreleaser-$(GORELEASER_VERSION)
CYCLONEDX_VERSION := v1.10.0
CYCLONEDX := $(CACHE)/tools/cyclonedx-gomod-$(CYCLONEDX_VERSION)/cyclonedx-gomod
# Debian's Prometheus and Alertmanager are unpacked here and not installed, because a package that is installed starts a service.
PROMETHEUS := $(CACHE)/tools/prometheus

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/holdfast, one static binary
	$(BUILD) -o bin/holdfast .

.PHONY: test
test: chromium prometheus $(GOTESTSUM) ## Run every test that needs no cluster, with the race detector
	PATH="$$PATH:$(PROMETHEUS)/usr/bin" $(GOTESTSUM) --format pkgname -- -race -vet=off -timeout 20m ./... # lint runs vet's analyzers, on everything

.PHONY: test-cluster
test-cluster: build ## Run the tests that need a real API server, on a cluster that is made for them and removed again
	set -euo pipefail; \
	told=$$(bin/holdfast up tests --zones a --workers-per-zone 1); trap 'bin/holdfast down tests' EXIT; eval "$$(grep 'export KUBECONFIG=' <<< "$$told")"; \
	go test -count 1 -tags e2e ./framework/audit

.PHONY: plain-cluster
plain-cluster: build ## Make a cluster that holdfast did not make, for trying record and plan; NAME=plain (remove it with: bin/holdfast down NAME)
	go run ./framework/internal/plaincluster $(or $(NAME),plain)

.PHONY: test-patrol
test-patrol: prometheus ## Have a real Prometheus and Alertmanager report each state that the audit's alerts are about (some minutes)
	PATH="$$PATH:$(PROMETHEUS)/usr/bin" go test -count 1 -tags e2e -timeout 30m -v -run '^TestAlertsOnARealPrometheus$$' ./framework/audit/exporter

.PHONY: fuzz-scheduler
fuzz-scheduler: ## Compare our placement rules with kube-scheduler's own on N=100000 random clusters; SEED=1 (compiles for minutes)
	cd framework/judge/invariant/schedulercheck && go vet . && \
	go test -count 1 -timeout 2h -v . -args -clusters $(or $(N),100000) -seed $(or $(SEED),1)

.PHONY: scale
scale: build ## Run SCENARIO=scale/drain on NODES=500 simulated nodes with PODS=5000 pods, and add what it took to suites/scale/measured.jsonl (real)
	set -euo pipefail; \
	bin/holdfast up scaling --for $(or $(SCENARIO),scale/drain) --simulated-nodes $(or $(NODES),500) --timings $(or $(TIMINGS),lab); trap 'bin/holdfast down scaling' EXIT; \
	$(MEASURE) '^BenchmarkCluster$$' -args -cluster scaling -scenario $(or $(SCENARIO),scale/drain) -pods $(or $(PODS),5000)

.PHONY: scale-requests
scale-requests: build ## Measure what judging and reporting COUNTS="100000 1000000 10000000" requests costs, and add it to framework/scaling/requests.jsonl
	$(MEASURE) '^BenchmarkRequests$$' -args -counts "$(or $(COUNTS),100000 1000000 10000000)"

.PHONY: scale-constraints
scale-constraints: build ## Measure what constraints cost the scheduler to bind BIND=90 pods on NODES=100 simulated nodes (at least one for each pod), with ROUNDS=5 (real)
	set -euo pipefail; \
	bin/holdfast up scaling --zones a --workers-per-zone 2 --simulated-nodes $(or $(NODES),100); trap 'bin/holdfast down scaling' EXIT; \
	$(MEASURE) '^BenchmarkConstraints$$' -args -cluster scaling -rounds $(or $(ROUNDS),5) -pods $(or $(BIND),90)

.PHONY: adversary
adversary: ## Attack records of scenarios, recordings and sessions, whole runs and nights: evidence removed and damage planted at random, each 1,000 times or more; SEED=1 (some minutes)
	go test -count 1 -timeout 2h ./framework/judge/invariant ./framework/cli ./reports/trend \
	  -run '^(TestAttacks.*|TestWithoutItsEvidenceNothingIsHeld|TestDamageIsNeverHeld)$$' -v -adversary -adversary-seed $(or $(SEED),1)

.PHONY: e2e
e2e: build ## Certify a real cluster; PROFILE=short (the default) or full, KUBERNETES=v1.37.0, PROXY_MODE=nftables, ENGINE=docker; RESUME=last-attempt continues a run
	$(if $(ENGINE),HOLDFAST_ENGINE=$(ENGINE)) bin/holdfast run $(if $(RESUME),--resume $(RESUME),--scope $(PROFILE) $(if $(KUBERNETES),--kubernetes $(KUBERNETES)) --proxy-mode $(PROXY_MODE))

.PHONY: e2e-starved
e2e-starved: build ## The short profile, or SCENARIOS, with a SHARE=1/3 of the processors for the nodes, as on a CI runner with a quota: nothing may be Violated, and 18 of 23 are judged (real)
	go build -o bin/ ./framework/internal/judged
	code=0; framework/internal/starve.sh $(or $(SHARE),1/3) bin/holdfast run --proxy-mode $(PROXY_MODE) $(SCENARIOS) || code=$$?; \
	if [ $$code -ne 5 ]; then exit $$code; fi; bin/judged 18/23 artifacts/last-attempt

.PHONY: certify
certify: build ## Upgrade a cluster in place, under load, and certify it; FROM=v1.36.3 TO=v1.37.0, PROFILES=core,extended, APP=a folder with holdfast.yaml
	bin/holdfast certify --from $(or $(FROM),$(error say from which version: make certify FROM=v1.36.3 TO=v1.37.0)) \
	  --to $(or $(TO),$(error say to which version: make certify FROM=v1.36.3 TO=v1.37.0)) $(if $(PROFILES),--profile $(PROFILES)) $(if $(APP),--app $(APP))

.PHONY: selftest
selftest: build ## Measure the harness: RUNS=3 seeded runs of every scenario, and then what make instrument measures
	code=0; bin/holdfast run --repeat $(RUNS) --scope $(PROFILE) --proxy-mode $(PROXY_MODE) $(if $(KUBERNETES),--kubernetes $(KUBERNETES)) || code=$$?; \
	$(MAKE) instrument && exit $$code

.PHONY: instrument
instrument: ## Measure load and record without a cluster: which planted outages and lost requests are seen, and what SOAK=100000 good requests leave (three minutes)
	go test -count 1 -timeout 12h -v -run '^TestInstrument' ./framework/run/instrument -args -outages 100 -losses 55s -soak $(SOAK)

.PHONY: test-app
test-app: build app-images ## Test an application that nobody here wrote: nginx as a tutorial deploys it, and its remedy
	bin/holdfast test suites/apps/nginx/holdfast.yaml --fix

.PHONY: apps
apps: build app-images ## Test every application in suites/apps (real; about an hour)
	go test -tags e2e -count 1 -timeout 2h -v ./suites/apps

.PHONY: app-images
app-images: ## Make the images of the applications in suites/apps from Debian's packages
	go run ./suites/apps/build suites/apps/nginx suites/apps/flaky suites/apps/reported suites/apps/haproxy-grpc suites/apps/postgres

.PHONY: incident
incident: build ## Have a known outage again, and see it mended; NAME=maintenance-took-us-out (make list names all)
	bin/holdfast run --incident $(or $(NAME),$(error say which: make incident NAME=maintenance-took-us-out))

.PHONY: list
list: build ## List the scenarios and their claims, without running them
	bin/holdfast run --list --scope full

.PHONY: test-heal
test-heal: build ## Kill a harness in the middle of each fault, and heal its cluster (real; about twenty minutes)
	go test -tags e2e -count 1 -timeout 1h -run '^TestHealAfterAKill$$' -v ./framework/cli

.PHONY: test-disturb
test-disturb: build ## Disturb a cluster that holdfast did not make as a limited user, kill the harness, and heal from elsewhere (real; half an hour; KILLS=25: an hour more)
	go test -tags e2e -count 1 -timeout 3h -run '^TestE2E(Disturb|Kills)$$' -v ./framework/run/session -args -kills $(or $(KILLS),1)

.PHONY: test-upgrade
test-upgrade: build ## Certify upgrades, by kubeadm, of clusters that holdfast did not make: one with drains, one without (real; half an hour, and the first time another node image)
	go test -tags e2e -count 1 -timeout 2h -run '^TestE2E(Careless)?Upgrade$$' -v ./framework/cli

.PHONY: test-record
test-record: build ## Record rollouts and drains of clusters that holdfast did not make, as a user who may only read (real; a quarter of an hour)
	go test -tags e2e -count 1 -timeout 1h -run '^TestE2ECare(ful|less)$$' -v ./framework/run/recording

.PHONY: test-interrupts
test-interrupts: build ## Interrupt runs and tests at MOMENTS=50 random moments, on real clusters, and look for what is left (about two hours)
	go run ./suites/apps/build suites/apps/nginx
	go test -tags e2e -count 1 -timeout 6h -run '^TestInterruptsOnRealClusters$$' -v ./framework/cli -args -moments $(or $(MOMENTS),50) $(if $(SEED),-moment-seed $(SEED))

# With the settings of BUILD, so that both share the packages that they compile.
lint: export CGO_ENABLED = 0
lint: export GOFLAGS := $(GOFLAGS) -trimpath
.PHONY: lint
lint: $(GOLANGCI_LINT) $(ACTIONLINT) ## Run the linters; go vet's analyzers are among them
	$(GOLANGCI_LINT) run --config .github/golangci.yml --build-tags e2e ./... # with the tests that need a cluster; no file is left out by the tag
	$(ACTIONLINT) -shellcheck= -pyflakes=
	go run ./framework/internal/house # the size of each room, the directions of imports, and habits of comments, with their limits

.PHONY: cross
cross: ## Compile everything, with its tests, for macOS and for arm64 (the first time eleven minutes on two cores)
	for target in darwin/arm64 darwin/amd64 linux/arm64; do \
	  echo "go vet for $$target"; GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0 go vet ./... || exit 1; \
	done

.PHONY: completions
completions: build ## Write what shells need to complete holdfast's commands into bin/completions
	mkdir -p bin/completions
	for shell in bash zsh fish; do bin/holdfast completion $$shell > bin/completions/holdfast.$$shell || exit 1; done

.PHONY: release-check
release-check: $(GORELEASER) $(CYCLONEDX) ## Make a release of this commit for every platform in bin/release, publish nothing, and look through it (the first time half an hour)
	$(GORELEASER) check --config .github/goreleaser.yaml
	PATH="$(dir $(CYCLONEDX)):$$PATH" $(GORELEASER) release --config .github/goreleaser.yaml --snapshot --clean
	go test -tags e2e -count 1 -run '^TestRelease' -v ./framework/cli/github

.PHONY: release
release: $(GORELEASER) $(CYCLONEDX) ## Make a draft of the release of the tag that is checked out, and look through it; .github/workflows/release.yml publishes it
	PATH="$(dir $(CYCLONEDX)):$$PATH" $(GORELEASER) release --config .github/goreleaser.yaml --clean
	go test -tags e2e -count 1 -run '^TestRelease' -v ./framework/cli/github

.PHONY: bench
bench: build chromium ## Run the benchmarks, side by side with what they are measured against (about half an hour)
	go test -run '^$$' -bench . -benchmem ./framework/history ./framework/judge/invariant ./framework/judge/analysis/attribution
	go test -run '^$$' -bench JudgeAndVegetaReport -benchtime 1x ./framework/cli
	go test -run '^$$' -bench . -benchtime 1x -timeout 40m ./framework/load/collect
	go test -count 1 -run '^TestADay$$' -v ./framework/run/recording -args -hours 24
	go test -count 1 -run '^(TestFalseAlarms|TestPower|TestFoundAsOftenAsComputed)$$' -v ./reports/trend -args -simulations 100
	go test -count 1 -run '^TestTheReportOfManyRequests$$' -timeout 30m -v ./reports/page -args -requests 10000000
	go test -tags e2e -run '^$$' -bench Pace -benchtime 3x -timeout 1h ./framework/cli
	go test -tags e2e -run '^$$' -bench ProvenCluster -benchtime 5x -timeout 1h ./clusters/kind

.PHONY: clean
clean: ## Remove what was built here, and all clusters that are ours
	if [ -x bin/holdfast ]; then bin/holdfast down --all; fi
	rm -rf bin

# build-tool makes the target of a rule: $(1) is the tool's package and version, $(2) how long that takes.
define build-tool
@if [ "$$HOLDFAST_NO_INSTALL" = 1 ]; then \
  echo "no $@, and HOLDFAST_NO_INSTALL=1: build it with 'GOBIN=$(@D)/tmp go install $(1)', and move it there"; exit 1; \
fi
@echo "building $(@F) into $(@D) (once, $(2); HOLDFAST_NO_INSTALL=1 refuses)"
mkdir -p $(@D)
GOBIN=$(@D)/tmp go install $(1)
mv $(@D)/tmp/$(notdir $(patsubst %/v2,%,$(firstword $(subst @, ,$(1))))) $@
endef

$(GOLANGCI_LINT):
	$(call build-tool,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION),some minutes)

$(ACTIONLINT):
	$(call build-tool,github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION),some seconds)

$(GORELEASER):
	$(call build-tool,github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION),ten minutes)

$(CYCLONEDX):
	$(call build-tool,github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX_VERSION),some seconds)

$(GOTESTSUM):
	$(call build-tool,gotest.tools/gotestsum@$(GOTESTSUM_VERSION),some seconds)

# The report's page is opened in a real browser by its test. As root on Debian it is installed, unless told not to.
.PHONY: chromium
chromium:
	@if [ "$$HOLDFAST_NO_CHROMIUM" = 1 ] || command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  [ -x "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" ]; then :; \
	elif [ "$$HOLDFAST_NO_INSTALL" = 1 ]; then \
	  echo "no Chromium, and HOLDFAST_NO_INSTALL=1: install it with 'apt-get install chromium', or set HOLDFAST_NO_CHROMIUM=1 to skip the test that needs it"; exit 1; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing chromium from the distribution, for the test that opens the report (HOLDFAST_NO_INSTALL=1 refuses)"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	else \
	  echo "no Chromium: install it, or set HOLDFAST_NO_CHROMIUM=1 to skip the test that needs it"; exit 1; \
	fi

# The audit's alerting rules are tried by Prometheus itself. On Debian its packages are unpacked for that, unless told not to.
.PHONY: prometheus
prometheus:
	@export PATH="$$PATH:$(PROMETHEUS)/usr/bin"; \
	if [ "$$HOLDFAST_NO_PROMETHEUS" = 1 ] || \
	  { command -v promtool && command -v prometheus && { command -v prometheus-alertmanager || command -v alertmanager; }; } >/dev/null; then :; \
	elif [ "$$HOLDFAST_NO_INSTALL" = 1 ]; then \
	  echo "no Prometheus, and HOLDFAST_NO_INSTALL=1: put promtool, prometheus and alertmanager on the PATH, or set HOLDFAST_NO_PROMETHEUS=1 to skip the tests that need them"; exit 1; \
	elif command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then \
	  echo "unpacking the distribution's prometheus and prometheus-alertmanager into $(PROMETHEUS), for the tests of the audit's alerts (HOLDFAST_NO_INSTALL=1 refuses)"; \
	  set -e; if [ "$$(id -u)" = 0 ]; then apt-get update -qq; fi; rm -rf $(PROMETHEUS).part; mkdir -p $(PROMETHEUS).part; cd $(PROMETHEUS).part; \
	  apt-get download -qq -o APT::Sandbox::User=root prometheus prometheus-alertmanager; \
	  for package in *.deb; do dpkg-deb -x $$package .; rm $$package; done; rm -rf $(PROMETHEUS); mv $(PROMETHEUS).part $(PROMETHEUS); \
	else \
	  echo "no Prometheus: install it, or set HOLDFAST_NO_PROMETHEUS=1 to skip the tests that need it"; exit 1; \
	fi
