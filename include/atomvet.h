/*
 * atomvet.h: says which parts of a program should be atomic.
 *
 *   ATOMVET_BEGIN("transfer");        a block begins; it ends with ATOMVET_END or, at the latest, with its function
 *   ATOMVET_END();
 *   ATOMVET_ATOMIC("transfer");       C++: the rest of this scope is a block
 *   ATOMVET_HINT_READ(x)              the value of x, read as a hint only: it is read again under a lock before
 *                                     anything depends on it
 *
 * Without the runtime of `atomvet run` all of this does nothing. C99, C++11, gcc and clang.
 */
#ifndef ATOMVET_H
#define ATOMVET_H

#ifdef __cplusplus
extern "C" {
#endif

/* Weak: null in a program that runs without atomvet. */
__attribute__((weak)) void atomvet_begin(const char *label);
__attribute__((weak)) void atomvet_end(void);
__attribute__((weak)) void atomvet_hint_begin(void);
__attribute__((weak)) void atomvet_hint_end(void);

#ifdef __cplusplus
}
#endif

#define ATOMVET_BEGIN(label) ((void)(atomvet_begin ? atomvet_begin(label) : (void)0))
#define ATOMVET_END() ((void)(atomvet_end ? atomvet_end() : (void)0))

#define ATOMVET_HINT_READ(x)                                        \
    (__extension__({                                                \
        if (atomvet_hint_begin)                                     \
            atomvet_hint_begin();                                   \
        __typeof__(x) atomvet_hint = (x);                           \
        if (atomvet_hint_end)                                       \
            atomvet_hint_end();                                     \
        atomvet_hint;                                               \
    }))

#ifdef __cplusplus

#define ATOMVET_INLINE __attribute__((always_inline, no_instrument_function)) inline

namespace atomvet {

/* A block that lasts as long as its scope. */
class Atomic {
  public:
    explicit ATOMVET_INLINE Atomic(const char *label) { ATOMVET_BEGIN(label); }
    ATOMVET_INLINE ~Atomic() { ATOMVET_END(); }
    Atomic(const Atomic &) = delete;
    Atomic &operator=(const Atomic &) = delete;
};

} /* namespace atomvet */

#define ATOMVET_JOIN2(a, b) a##b
#define ATOMVET_JOIN(a, b) ATOMVET_JOIN2(a, b)
#define ATOMVET_ATOMIC(label) ::atomvet::Atomic ATOMVET_JOIN(atomvet_scope_, __LINE__)(label)

#endif /* __cplusplus */

#endif /* ATOMVET_H */
