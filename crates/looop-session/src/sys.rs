//! The one place with `unsafe` code.
#![expect(
    unsafe_code,
    reason = "inherited descriptors, what is done between fork and exec, and a fork that nobody wraps"
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
