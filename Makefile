# soft_twin without a ROS installation: `make run`, `make test`. Nothing else is to be typed, exported or sourced.
# Everything is installed into .venv; stamp files in it say what is done already.

ROBOT ?= slender
ARGUMENTS ?=
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
MESSAGES := $(shell find msgs -type f)
KERNELS := $(shell grep -rlE "njit|linear_algebra.compiled" --include='*.py' src)
PYTHONS := $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python3.10)

# Python keeps what it has compiled, whatever the shell asks for: tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

# Runs its arguments quietly; what they printed is shown when they fail.
QUIETLY = quietly() { "$$@" > $(VENV)/last.log 2>&1 || { cat $(VENV)/last.log; exit 1; }; }; quietly

.PHONY: help run test distributions lint clean
.DELETE_ON_ERROR:

help:
	@echo "make run     run a robot's whole loop on emulated hardware; ROBOT=$(ROBOT) ARGUMENTS='$(ARGUMENTS)'"
	@echo "make test    run all tests; ARGUMENTS='-k gravity' chooses"
	@echo "make distributions  fast tests beside each ROS distribution's numpy and scipy; ARGUMENTS='humble'"
	@echo "make lint    check the code's style"
	@echo "make clean   remove everything that was installed or built here"

run: $(VENV)/.ready
	@$(BIN)/soft-twin run $(ROBOT) $(ARGUMENTS)

# Robots that are held in real time have deadlines: their tests run by themselves, after the others, which run side by
# side. Pytest's status 5, that none was chosen, counts where it holds for both.
test: $(VENV)/.ready
	@status=5; \
	tests() { $(BIN)/python -m pytest -q "$$@" $(ARGUMENTS); end=$$?; \
		if [ $$end != 5 ] && [ $$status = 0 -o $$status = 5 ]; then status=$$end; fi; }; \
	tests -m "not alone" -n 3 --dist loadfile; tests -m alone; exit $$status

distributions: $(VENV)/.python
	@$(BIN)/python test/distributions.py $(ARGUMENTS)

lint: $(VENV)/.ready
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --check --quiet .

clean:
	@rm -rf $(VENV) build install log out src/*.egg-info
	@find src test bench -name __pycache__ -exec rm -rf {} +

$(VENV)/.python:
	@command -v cmake c++ > /dev/null || { echo "make: needs a compiler and cmake (Debian, Ubuntu:" \
		"apt install build-essential cmake python3-dev python3-venv)" >&2; exit 2; }
	@for python in $(PYTHONS); do \
		$$python -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' 2> /dev/null || continue; \
		echo "making $(VENV) with $$($$python --version)"; \
		$$python -m venv $(VENV) && touch $@ && exit 0 || exit 2; \
	done; echo "make: needs Python 3.10 to 3.13, found none among $(PYTHONS); say PYTHON=path" >&2; exit 2

$(VENV)/.packages: pyproject.toml $(VENV)/.python
	@echo "installing Python packages and ROS 2 (once)"
	@$(QUIETLY) $(BIN)/pip install --quiet --disable-pip-version-check --editable '.[ros,test]'
	@touch $@

$(VENV)/.messages: $(MESSAGES) | $(VENV)/.packages
	@echo "building soft_twin_msgs (once)"
	@$(QUIETLY) sh msgs/install_into.sh $(CURDIR)/$(VENV)
	@touch $@

$(VENV)/.kernels: $(KERNELS) | $(VENV)/.packages
	@echo "compiling the physics (what has changed)"
	@$(QUIETLY) $(BIN)/soft-twin compile
	@touch $@

$(VENV)/.ready: $(VENV)/.packages $(VENV)/.messages $(VENV)/.kernels
	@touch $@
