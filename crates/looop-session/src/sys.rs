//! The one place with `unsafe` code.
#![expect(
    unsafe_code,
    reason = "inherited descriptors, what is done between fork and exec, a fork that nobody wraps, memory of our code"
)]

use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::{Errno, FdFlags, fcntl_setfd};

/// Where the kernel lists our descriptors.
const LISTS: [&str; 2] = ["/proc/self/fd", "/dev/fd"];

/// Keeps every descriptor but the standard streams from those we start, whatever whoever started us left open.
pub(crate) fn keep_descriptors_from_children() -> io::Result<()> {
    for number in inherited()? {
        // SAFETY: the descriptor is borrowed for one call that only sets a flag on it. Should it be closed by then the
        // call fails and nothing else happens; this runs at the start of a process with one thread.
        let fd = unsafe { BorrowedFd::borrow_raw(number) };
        match fcntl_setfd(fd, FdFlags::CLOEXEC) {
            // The descriptor the list was read with is among those listed, and gone.
            Ok(()) | Err(Errno::BADF) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Closes every descriptor but the standard streams, whatever whoever started us left open: a pipe that we would hold
/// keeps its reader waiting.
///
/// Call it before anything else is opened in this process.
pub(crate) fn close_inherited_descriptors() -> io::Result<()> {
    for number in inherited()? {
        // SAFETY: nothing was opened in this process yet, so nobody in it owns the descriptor. The one that the list
        // was read with is closed already, and the call does nothing about it.
        unsafe { libc::close(number) };
    }
    Ok(())
}

/// The numbers of all open descriptors but the standard streams.
fn inherited() -> io::Result<Vec<RawFd>> {
    let mut list = Err(io::ErrorKind::NotFound.into());
    for path in LISTS {
        list = list.or_else(|_: io::Error| std::fs::read_dir(path));
    }
    let mut numbers = Vec::new();
    for entry in list? {
        numbers.extend(
            entry?
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<RawFd>().ok())
                .filter(|number| *number > 2),
        );
    }
    Ok(numbers)
}

/// Lets the program lead a session of its own, with its standard input as the controlling terminal.
pub(crate) fn lead_terminal_session(command: &mut Command) {
    let lead = || {
        rustix::process::setsid()?;
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        Ok(())
    };
    // SAFETY: between fork and exec only calls that are safe in a signal handler are made: two bare system calls, no
    // memory is allocated and no lock is taken, and an error is a number.
    unsafe {
        command.pre_exec(lead);
    }
}

/// Lets the program lead a session of its own without a terminal, with no descriptor but its standard streams and no
/// signal that is blocked or ignored, whatever we have open, and whatever we were started with.
pub(crate) fn lead_bare_session(command: &mut Command) {
    let open = inherited();
    let lead = move || {
        rustix::process::setsid()?;
        heed_every_signal()?;
        keep_from_program(open.as_deref())
    };
    // SAFETY: between fork and exec only calls that are safe in a signal handler are made: bare system calls. The list
    // of descriptors is made before; no memory is allocated or freed, no lock is taken, and an error is a number.
    unsafe {
        command.pre_exec(lead);
    }
}

/// The highest number of a signal.
#[cfg(target_os = "linux")]
const LAST_SIGNAL: i32 = 64;
#[cfg(not(target_os = "linux"))]
const LAST_SIGNAL: i32 = 31;

/// Gives every signal its default effect and blocks none. To be called between fork and exec.
fn heed_every_signal() -> io::Result<()> {
    for signal in 1..=LAST_SIGNAL {
        // SAFETY: no handler is set, only taken away. Of those that cannot be changed nothing was changed before.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let mut none = std::mem::MaybeUninit::uninit();
    // SAFETY: the set is made by the first call before the second one reads it, and the old mask is not asked for.
    let changed = unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut())
    };
    if changed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Keeps every descriptor but the standard streams from the program that follows. It is marked and not closed: the one
/// through which a failed start is told must stay until then. To be called between fork and exec.
fn keep_from_program(listed: Result<&[RawFd], &io::Error>) -> io::Result<()> {
    if keep_range_from_program() {
        return Ok(());
    }
    let listed = listed.map_err(|error| io::Error::from(error.kind()))?;
    for number in listed {
        // SAFETY: it only sets a flag; of a descriptor that was closed meanwhile it fails and does nothing.
        unsafe { libc::fcntl(*number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}

/// The same in one call, where the kernel has it.
#[cfg(target_os = "linux")]
fn keep_range_from_program() -> bool {
    const MARK_ONLY: libc::c_uint = 4;
    // SAFETY: it only sets a flag on descriptors.
    unsafe { libc::syscall(libc::SYS_close_range, 3 as libc::c_uint, libc::c_uint::MAX, MARK_ONLY) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn keep_range_from_program() -> bool {
    false
}

/// Who we are after a fork.
#[cfg(target_os = "linux")]
pub(crate) enum Fork {
    /// The one that forked, and the number of the other.
    Parent(rustix::process::Pid),
    /// The other. It becomes a program, or it [`leave`]s.
    Child,
}

/// Forks a child that is born inside the control group with this folder, with no signal handler of ours.
///
/// Call it in a process with one thread: the child has but that one, and what another held would be held for ever.
#[cfg(target_os = "linux")]
pub(crate) fn fork_into(group: &impl std::os::fd::AsRawFd) -> io::Result<Fork> {
    const CLEAR_SIGHAND: u64 = 0x1_0000_0000;
    const INTO_CGROUP: u64 = 0x2_0000_0000;
    // The form of the kernel: flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
    // set_tid_size, cgroup.
    let mut order = [0_u64; 11];
    order[0] = CLEAR_SIGHAND | INTO_CGROUP;
    order[4] = u64::from(rustix::process::Signal::CHILD.as_raw().unsigned_abs());
    order[10] = u64::from(group.as_raw_fd().unsigned_abs());
    // SAFETY: without CLONE_VM this is a plain fork. The kernel reads the order and writes to no memory of ours; parent
    // and child each go on with memory of their own, and there is no other thread.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, order.as_ptr(), size_of_val(&order)) };
    match i32::try_from(pid).ok().map(|pid| (pid, rustix::process::Pid::from_raw(pid.max(0)))) {
        Some((0, _)) => Ok(Fork::Child),
        Some((_, Some(child))) => Ok(Fork::Parent(child)),
        Some((_, None)) | None => Err(io::Error::last_os_error()),
    }
}

/// Ends a forked child that did not become a program, without a trace.
#[cfg(target_os = "linux")]
pub(crate) fn leave() -> ! {
    // SAFETY: it ends the process, without running anything of it that belongs to the one it was forked from.
    unsafe { libc::_exit(127) }
}

/// Lets go of the memory that a part of our own code takes; what runs again is read again from the file.
///
/// Call it for a mapping of the running program that is executable and not writable, as the kernel lists it.
#[cfg(target_os = "linux")]
pub(crate) fn let_go_of_code(from: usize, to: usize) {
    let from = from as *mut libc::c_void;
    // SAFETY: the pages of the mapping are those of a file and were never written, since nothing may write there, so
    // that each is the same when it comes back. The mapping itself stays. A refusal leaves all as it was.
    unsafe { libc::madvise(from, to - from as usize, libc::MADV_DONTNEED) };
}
