//! The one place with `unsafe` code.
#![expect(unsafe_code, reason = "a descriptor that was inherited is known by its number only")]

use std::io;
use std::os::fd::{BorrowedFd, RawFd};

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
