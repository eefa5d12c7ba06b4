//! The binary.

fn main() -> std::process::ExitCode {
    looop::cli::main()
}
