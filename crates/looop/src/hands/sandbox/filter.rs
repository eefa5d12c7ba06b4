//! System calls that nothing confined needs, and that would reach past the sandbox or into the kernel.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, Write};

use rustix::fs::{MemfdFlags, memfd_create};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// Refused as not permitted: keys of the kernel, which know no namespace of files; programs for the kernel; memory and
/// counters of others; mounts and namespaces, by which what is shown could be changed; and what is the machine's.
const REFUSED: &[i64] = &[
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
    libc::SYS_acct,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
];
/// Calls that make user namespaces, by their first argument.
const SPLITTING: [i64; 2] = [libc::SYS_clone, libc::SYS_unshare];
/// What types into a terminal as if a person did: TIOCSTI and TIOCLINUX.
const TYPING: [u64; 2] = [0x5412, 0x541c];

/// Both filters, as files that bubblewrap reads.
pub(super) fn files() -> Result<Vec<File>, String> {
    let refused = program(refused()?, libc::EPERM)?;
    // Its flags lie in memory, where a filter cannot look. Programs that are told that there is no such call use the
    // older one.
    let absent = program(everywhere(libc::SYS_clone3, &[]), libc::ENOSYS)?;
    [refused, absent].iter().map(|program| file(program).map_err(|error| error.to_string())).collect()
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn refused() -> Result<Rules, String> {
    let mut rules = Rules::new();
    for call in REFUSED {
        rules.extend(everywhere(*call, &[]));
    }
    let user = libc::CLONE_NEWUSER.cast_unsigned().into();
    for call in SPLITTING {
        rules.extend(everywhere(call, &[rule(0, SeccompCmpOp::MaskedEq(user), user)?]));
    }
    let typing = TYPING.iter().map(|kind| rule(1, SeccompCmpOp::Eq, *kind)).collect::<Result<Vec<_>, _>>()?;
    rules.extend(everywhere(libc::SYS_ioctl, &typing));
    #[cfg(target_arch = "x86_64")]
    rules.extend([(X32 + 514, typing), (X32 + 528, Vec::new())]);
    Ok(rules)
}

/// A condition on one argument, of which the kernel looks at the lower half in these calls.
fn rule(argument: u8, how: SeccompCmpOp, value: u64) -> Result<SeccompRule, String> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value);
    condition.and_then(|condition| SeccompRule::new(vec![condition])).map_err(|error| error.to_string())
}

/// A kernel may know the calls of x86-64 by second numbers, and some (`ioctl`, `kexec_load`) by numbers of their own.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

#[cfg(target_arch = "x86_64")]
fn everywhere(call: i64, rules: &[SeccompRule]) -> Rules {
    [(call, rules.to_vec()), (X32 + call, rules.to_vec())].into()
}

#[cfg(not(target_arch = "x86_64"))]
fn everywhere(call: i64, rules: &[SeccompRule]) -> Rules {
    [(call, rules.to_vec())].into()
}

fn program(rules: Rules, error: i32) -> Result<BpfProgram, String> {
    let machine = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let errno = SeccompAction::Errno(error.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, errno, machine);
    filter.and_then(BpfProgram::try_from).map_err(|error| error.to_string())
}

/// A file in memory that whoever we become has open.
fn file(program: &BpfProgram) -> std::io::Result<File> {
    let mut file = File::from(memfd_create("filter", MemfdFlags::empty())?);
    for line in program {
        file.write_all(&line.code.to_ne_bytes())?;
        file.write_all(&[line.jt, line.jf])?;
        file.write_all(&line.k.to_ne_bytes())?;
    }
    file.rewind()?;
    Ok(file)
}
