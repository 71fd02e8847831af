/*
 * The part of <sanitizer/tsan_interface.h> with which a lock of one's own says that it is one. Declared weak, so that a
 * program also links where no runtime is present.
 */
#ifndef LOCK_ANNOTATIONS_H
#define LOCK_ANNOTATIONS_H

__attribute__((weak)) void __tsan_mutex_pre_lock(void *lock, unsigned flags);
__attribute__((weak)) void __tsan_mutex_post_lock(void *lock, unsigned flags, int recursion);
__attribute__((weak)) int __tsan_mutex_pre_unlock(void *lock, unsigned flags);
__attribute__((weak)) void __tsan_mutex_post_unlock(void *lock, unsigned flags);

#define LOCKING(lock) ((void)(__tsan_mutex_pre_lock ? __tsan_mutex_pre_lock(lock, 0) : (void)0))
#define LOCKED(lock) ((void)(__tsan_mutex_post_lock ? __tsan_mutex_post_lock(lock, 0, 0) : (void)0))
#define UNLOCKING(lock) ((void)(__tsan_mutex_pre_unlock ? __tsan_mutex_pre_unlock(lock, 0) : 0))
#define UNLOCKED(lock) ((void)(__tsan_mutex_post_unlock ? __tsan_mutex_post_unlock(lock, 0) : (void)0))

#endif
