# Builds libfastact.a, the kernels without Python, in the current folder: make -f fastact.mk
#
# CC names the compiler, gcc or clang, also one for another machine; CFLAGS adds to its flags. A
# makefile may include this file, as examples/c_application does.

FASTACT := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))..)
include $(FASTACT)/kernels/variants.mk

FASTACT_MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
FASTACT_VARIANTS := $(or $(FASTACT_VARIANTS_$(FASTACT_MACHINE)),scalar)
FASTACT_KERNELS := $(FASTACT_VARIANTS:%=fastact-%.o)
FASTACT_HEADERS := $(wildcard $(FASTACT)/*/*.h)

# The list of variants as the macro that dispatch.h reads: VARIANT(name, condition) ...
FASTACT_CONDITION = 1$(foreach feature,$(FASTACT_FEATURES_$(1)), && FASTACT_CPU_HAS("$(feature)"))
FASTACT_LIST := $(foreach name,$(FASTACT_VARIANTS),VARIANT($(name), $(call FASTACT_CONDITION,$(name))))

libfastact.a: $(FASTACT_KERNELS) fastact-dispatch.o fastact-fastact.o
	$(shell $(CC) -print-prog-name=ar) rcs $@ $^

$(FASTACT_KERNELS): fastact-%.o: $(FASTACT)/kernels/kernels.c $(FASTACT_HEADERS)
	$(CC) $(FASTACT_FLAGS) $(FASTACT_FLAGS_$*) $(addprefix -m,$(FASTACT_FEATURES_$*)) $(CFLAGS) \
	    -DFASTACT_VARIANT=$* -c -o $@ $<

fastact-dispatch.o fastact-fastact.o: fastact-%.o: $(FASTACT)/kernels/%.c $(FASTACT_HEADERS)
	$(CC) $(FASTACT_FLAGS) $(CFLAGS) -D'FASTACT_VARIANTS=$(FASTACT_LIST)' -c -o $@ $<
