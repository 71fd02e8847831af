//! Functions that are not interposed for what they do, but because of their versions.
//!
//! A program linked against ThreadSanitizer's runtime refers to the functions that that intercepts without a version.
//! What is not defined here would be bound to glibc's *oldest* version, some of which are a different function
//! (`pthread_cond_*` of another layout, `realpath` without allocation, …). Each stub goes on to the newest.

use core::arch::naked_asm;

use crate::real::Real;

/// Jumps to the real function with all argument registers as they were.
macro_rules! forward {
    ($($function:ident $real:ident $name:literal $version:literal;)*) => {
        $(
            static $real: Real = Real::new($name, Some($version));
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $function() {
                naked_asm!(
                    "mov rax, [rip + {real}]",
                    "test rax, rax",
                    "jnz 2f",
                    "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9",
                    "sub rsp, 72",
                    "movups [rsp], xmm0", "movups [rsp + 16], xmm1",
                    "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
                    "lea rdi, [rip + {real}]",
                    "call {look_up}",
                    "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]",
                    "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
                    "add rsp, 72",
                    "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                    "2:", "jmp rax",
                    real = sym $real, look_up = sym look_up,
                )
            }
        )*
    };
}

extern "C" fn look_up(real: &'static Real) -> usize {
    real.look_up() as usize
}

forward! {
    pthread_cond_init COND_INIT c"pthread_cond_init" c"GLIBC_2.3.2";
    pthread_cond_destroy COND_DESTROY c"pthread_cond_destroy" c"GLIBC_2.3.2";
    pthread_cond_signal COND_SIGNAL c"pthread_cond_signal" c"GLIBC_2.3.2";
    pthread_cond_broadcast COND_BROADCAST c"pthread_cond_broadcast" c"GLIBC_2.3.2";
    realpath REALPATH c"realpath" c"GLIBC_2.3";
    regexec REGEXEC c"regexec" c"GLIBC_2.3.4";
    glob GLOB c"glob" c"GLIBC_2.27";
    glob64 GLOB64 c"glob64" c"GLIBC_2.27";
    posix_spawn POSIX_SPAWN c"posix_spawn" c"GLIBC_2.15";
    posix_spawnp POSIX_SPAWNP c"posix_spawnp" c"GLIBC_2.15";
    sched_getaffinity SCHED_GETAFFINITY c"sched_getaffinity" c"GLIBC_2.3.4";
    pthread_attr_getaffinity_np ATTR_GETAFFINITY c"pthread_attr_getaffinity_np" c"GLIBC_2.32";
    fmemopen FMEMOPEN c"fmemopen" c"GLIBC_2.22";
    lgamma LGAMMA c"lgamma" c"GLIBC_2.23";
    lgammaf LGAMMAF c"lgammaf" c"GLIBC_2.23";
    lgammal LGAMMAL c"lgammal" c"GLIBC_2.23";
}
