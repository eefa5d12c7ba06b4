//! Text to tree.

use super::tame;
use brush_parser::ast::Program;
use brush_parser::{ParserOptions, TokenizerOptions};

/// Parses what a shell would be given, or says why that cannot be done.
pub(super) fn program(text: &str) -> Result<Program, String> {
    if let Some(why) = tame::refuse_text(text) {
        return Err(why.to_owned());
    }
    let options = ParserOptions::default();
    let tokens = tokens(text, &options.tokenizer_options())?;
    if let Some(why) = tame::refuse_tokens(&tokens) {
        return Err(why.to_owned());
    }
    brush_parser::parse_tokens(&tokens, &options).map_err(|_| "cannot be parsed".to_owned())
}

fn tokens(text: &str, options: &TokenizerOptions) -> Result<Vec<brush_parser::Token>, String> {
    brush_parser::uncached_tokenize_str(text, options).map_err(|_| "cannot be parsed".to_owned())
}
