//! How the binary is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Each worker has a host process of its own, and each host is this binary. At a fixed address the tables of the binary
    // are the same pages for all of them; at a random one every host pays for its own relocated copy.
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let libc = std::env::var("CARGO_CFG_TARGET_ENV").unwrap_or_default();
    if system == "linux" && libc == "gnu" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
