//! From being loaded to rewriting classes.
//!
//! ```text
//! Agent_OnLoad ──► the JVM starts ──► VMInit: the ring, the hook class, what is loaded already ──► classes, one by one
//! ```
//!
//! Nothing is recorded or rewritten before VMInit: the JVM is not whole, and with it nothing of the application's runs.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::Ordering;

use atomvet_jvm::{Order, Rewritten, rewrite};

use crate::facts::Facts;
use crate::hook_classes::HOOK_CLASSES;
use crate::jni::{self, Env, Object, Ti};
use crate::options::Options;
use crate::plan::{self, ClassPlan, Numbered, Owner};
use crate::{host, names, natives, ring, sys, thread, vm};

const VM_INIT: i32 = 50;
const THREAD_END: i32 = 53;
const CLASS_FILE_LOAD_HOOK: i32 = 54;
const MONITOR_WAIT: i32 = 73;

/// What the JVM calls first.
#[unsafe(no_mangle)]
extern "system" fn Agent_OnLoad(
    vm: *mut *const [*const c_void; 8],
    options: *const c_char,
    _reserved: *const c_void,
) -> i32 {
    const REFUSED: i32 = 1;
    // Named twice, on the command line and in the environment, it is there once.
    let is_there = !vm::ti().is_null();
    if is_there || std::env::var_os(ring::DIRECTORY).is_none_or(|directory| directory.is_empty()) {
        return 0;
    }
    pass_on();
    // SAFETY: the JVM gives a text or nothing.
    let text = if options.is_null() { c"" } else { unsafe { CStr::from_ptr(options) } };
    let options = match Options::parse(&text.to_string_lossy()) {
        Ok(options) => options,
        Err(problem) => {
            sys::complain(&problem);
            return REFUSED;
        }
    };
    // SAFETY: what the JVM gave.
    let ti = unsafe { jni::agent_env(vm) };
    let wanted = jni::ALL_CLASS_HOOK_EVENTS | jni::MONITOR_EVENTS | jni::RETRANSFORM | jni::RETRANSFORM_ANY;
    if ti.is_null() || jni::add_capabilities(ti, wanted) != 0 {
        sys::complain("this JVM lets no agent rewrite classes; use a HotSpot JVM of version 17 or later");
        return REFUSED;
    }
    vm::remember(ti, options);
    let mut callbacks: jni::Callbacks = [core::ptr::null(); 38];
    let mut on = |event: i32, callback: *const c_void| callbacks[(event - VM_INIT) as usize] = callback;
    on(VM_INIT, vm_init as *const c_void);
    on(THREAD_END, thread_end as *const c_void);
    on(CLASS_FILE_LOAD_HOOK, class_file_load as *const c_void);
    on(MONITOR_WAIT, monitor_wait as *const c_void);
    jni::set_callbacks(ti, &callbacks);
    jni::enable_event(ti, VM_INIT);
    0
}

/// Has JVMs that this one starts load the agent as well, if the command wants that. They get it from a variable that
/// this JVM must not have found there: it stands on its command line already.
fn pass_on() {
    const FOR_CHILDREN: &str = "ATOMVET_TOOL_OPTIONS";
    if let Some(options) = std::env::var_os(FOR_CHILDREN) {
        // SAFETY: the JVM is being made by this thread; there is none yet that could look at the environment.
        unsafe { std::env::set_var("JAVA_TOOL_OPTIONS", options) };
    }
}

extern "system" fn vm_init(ti: Ti, env: Env, _thread: Object) {
    if !host::begin() {
        return;
    }
    if let Err(problem) = prepare(ti, env) {
        if jni::has_exception(env) {
            jni::clear_exception(env);
        }
        sys::complain(problem);
        names::write(&format!("e {problem}\n"));
    }
}

/// Puts the hook class in its place and rewrites what is loaded already.
fn prepare(ti: Ti, env: Env) -> Result<(), &'static str> {
    if !natives::reserve() {
        return Err("no address space for the agent; allow more (ulimit -v); nothing is recorded");
    }
    let too_old =
        "the hook class cannot be defined; a JVM of version 17 or later is needed; nothing is recorded";
    for (name, bytes) in HOOK_CLASSES {
        let class = jni::define_class(env, name, bytes);
        if class.is_null() {
            return Err(too_old);
        }
        if vm::HOOKS.get().is_null() {
            vm::HOOKS.set(jni::new_global(env, class));
        }
    }
    let hooks = vm::hooks();
    let method = |name, signature| jni::static_method(env, hooks, name, signature);
    let start = method(c"start", c"()V");
    vm::THREAD_ENDS.set(method(c"threadEnds", c"()V"));
    vm::WAITS.set(method(c"waits", c"(Ljava/lang/Object;)V"));
    let loaders = jni::find_class(env, c"java/lang/ClassLoader");
    let platform = jni::static_method(env, loaders, c"getPlatformClassLoader", c"()Ljava/lang/ClassLoader;");
    if start.is_null() || platform.is_null() {
        return Err("the hooks do not fit the agent; nothing is recorded");
    }
    let platform = jni::call_static_object(env, loaders, platform);
    vm::PLATFORM_LOADER.set(jni::new_global(env, platform));
    jni::call_static(env, hooks, start, core::ptr::null_mut());
    if jni::has_exception(env) {
        return Err("the hooks cannot be started; nothing is recorded");
    }
    vm::READY.store(true, Ordering::Release);
    for event in [CLASS_FILE_LOAD_HOOK, THREAD_END, MONITOR_WAIT] {
        jni::enable_event(ti, event);
    }
    rewrite_loaded(ti, env);
    Ok(())
}

/// Classes that were loaded before: of the JDK what is asked for or synchronises.
fn rewrite_loaded(ti: Ti, env: Env) {
    let mut wanted = Vec::new();
    for class in jni::loaded_classes(ti) {
        let signature = jni::class_signature(ti, class);
        let name = signature.strip_prefix(b"L").and_then(|name| name.strip_suffix(b";"));
        if let Some(name) = name
            && plan::treatment(name, owner(env, jni::class_loader(ti, class))).is_some()
            && jni::is_modifiable(ti, class)
        {
            wanted.push(class);
        }
    }
    if !wanted.is_empty() && jni::retransform(ti, &wanted) != 0 {
        // One that cannot be must not keep the others from it.
        for class in wanted {
            if jni::retransform(ti, &[class]) != 0 {
                names::write(&format!("x {}: cannot be changed any more\n", class_name(ti, class)));
            }
        }
    }
}

fn class_name(ti: Ti, class: Object) -> String {
    names::type_name(&jni::class_signature(ti, class)).0
}

fn owner(env: Env, loader: Object) -> Owner {
    if loader.is_null() || jni::is_same(env, loader, vm::PLATFORM_LOADER.get()) {
        Owner::Jdk
    } else {
        Owner::Application
    }
}

extern "system" fn thread_end(_ti: Ti, env: Env, _thread: Object) {
    if thread::current().is_some() {
        jni::call_static(env, vm::hooks(), vm::THREAD_ENDS.get(), core::ptr::null_mut());
        natives::thread_ends();
    }
}

extern "system" fn monitor_wait(_ti: Ti, env: Env, _thread: Object, object: Object, _timeout: i64) {
    if thread::current().is_some() {
        jni::call_static(env, vm::hooks(), vm::WAITS.get(), object);
    }
}

extern "system" fn class_file_load(
    ti: Ti,
    env: Env,
    redefined: Object,
    loader: Object,
    name: *const c_char,
    _domain: Object,
    length: i32,
    bytes: *const u8,
    new_length: *mut i32,
    new_bytes: *mut *mut u8,
) {
    if !vm::READY.load(Ordering::Acquire) || name.is_null() {
        return;
    }
    // SAFETY: the JVM gives a text and a class file of this length.
    let (name, file) =
        unsafe { (CStr::from_ptr(name).to_bytes(), core::slice::from_raw_parts(bytes, length as usize)) };
    let owner = owner(env, loader);
    let Some(treatment) = plan::treatment(name, owner) else { return };
    let numbered = match owner {
        Owner::Jdk => Numbered::No,
        Owner::Application if redefined.is_null() => Numbered::AtTheTop,
        Owner::Application => Numbered::AsBefore,
    };
    let facts = Facts::read(file);
    let source = source_file(facts.source.as_deref(), name);
    let mut plan = ClassPlan::new(env, treatment, loader, &source, numbered, facts);
    let options = atomvet_jvm::Options { hook_class: treatment.hook_class(), order: Order::Around };
    match rewrite(file, options, &mut plan) {
        Ok(Rewritten { bytes: new, left_alone, .. }) => {
            plan.publish();
            for method in left_alone {
                let shown = format!("{}.{}", names::class_name(name), names::text(&method.name));
                names::write(&format!("x {shown}: {}\n", method.why));
            }
            let Some(new) = new else { return };
            let memory = jni::allocate(ti, new.len());
            if memory.is_null() {
                return;
            }
            // SAFETY: the JVM's memory, which is as long.
            unsafe {
                core::ptr::copy_nonoverlapping(new.as_ptr(), memory, new.len());
                *new_length = new.len() as i32;
                *new_bytes = memory;
            }
        }
        // The JVM will say what is wrong with it, if anything is.
        Err(why) => names::write(&format!("x {}: {why}\n", names::class_name(name))),
    }
}

/// The source of a class as a path: that of its package, and the file that the compiler named.
fn source_file(told: Option<&[u8]>, name: &[u8]) -> String {
    let package = name.iter().rposition(|&byte| byte == b'/').map_or(&b""[..], |at| &name[..=at]);
    match told {
        Some(told) => names::text(package) + &names::text(told),
        None => names::text(name) + ".class",
    }
}
