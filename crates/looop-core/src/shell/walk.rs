//! The walk over the tree of a parsed text.

use super::call::Input;
use super::paths::{Place, place};
use super::rules;
use super::screener::{Lookup, Screener};
use super::screening::Danger;
use super::word::{Arg, Mode};
use super::{builtin, peek};
use brush_parser::ast;

impl Screener {
    pub(super) fn program(&mut self, program: &ast::Program) {
        for list in &program.complete_commands {
            for item in &list.0 {
                if let Some(function) = sure_definition(item) {
                    self.functions.insert(function.fname.value.clone());
                }
            }
        }
        for list in &program.complete_commands {
            self.list(list);
        }
    }

    fn list(&mut self, list: &ast::CompoundList) {
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            let beside = usize::from(matches!(separator, ast::SeparatorOperator::Async));
            self.beside += beside;
            self.pipeline(&and_or.first);
            for next in &and_or.additional {
                match next {
                    ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline) => self.pipeline(pipeline),
                }
            }
            self.beside -= beside;
        }
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) {
        let beside = usize::from(pipeline.seq.len() > 1);
        self.beside += beside;
        let outer = self.input.clone();
        for (at, command) in pipeline.seq.iter().enumerate() {
            if at > 0 {
                self.input = Input::Given;
            }
            self.command(command);
        }
        self.input = outer;
        self.beside -= beside;
    }

    fn command(&mut self, command: &ast::Command) {
        if !self.spend(1) {
            return;
        }
        match command {
            ast::Command::Simple(simple) => self.simple(simple),
            ast::Command::Compound(compound, redirects) => {
                self.redirected(redirects.as_ref(), |this| this.compound(compound));
            }
            ast::Command::Function(function) => self.function(function),
            ast::Command::ExtendedTest(test, redirects) => {
                self.redirected(redirects.as_ref(), |this| this.test(&test.expr));
            }
        }
    }

    /// Walks something whose standard input may come from its own redirections.
    fn redirected(&mut self, redirects: Option<&ast::RedirectList>, walk: impl FnOnce(&mut Self)) {
        let outer = self.input.clone();
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            if let Some(input) = self.redirect(redirect) {
                self.input = input;
            }
        }
        walk(self);
        self.input = outer;
    }

    fn compound(&mut self, compound: &ast::CompoundCommand) {
        match compound {
            ast::CompoundCommand::Arithmetic(command) => self.expanded(&command.expr.value),
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                for expr in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.expanded(&expr.value);
                }
                self.list(&clause.body.list);
            }
            ast::CompoundCommand::BraceGroup(group) => self.list(&group.list),
            ast::CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            ast::CompoundCommand::ForClause(clause) => self.for_clause(clause),
            ast::CompoundCommand::CaseClause(clause) => self.case_clause(clause),
            ast::CompoundCommand::IfClause(clause) => self.if_clause(clause),
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            ast::CompoundCommand::Coprocess(coprocess) => {
                self.beside += 1;
                self.command(&coprocess.body);
                self.beside -= 1;
            }
        }
    }

    fn expanded(&mut self, text: &str) {
        if text.contains("<<") {
            self.unknown("a shift in arithmetic reads like a here-document");
        }
        self.word(text, Mode::Body);
    }

    fn for_clause(&mut self, clause: &ast::ForClauseCommand) {
        builtin::variable(self, &clause.variable_name);
        for value in clause.values.iter().flatten() {
            self.word(&value.value, Mode::Word);
        }
        self.list(&clause.body.list);
    }

    fn case_clause(&mut self, clause: &ast::CaseClauseCommand) {
        self.word(&clause.value.value, Mode::Word);
        for case in &clause.cases {
            for pattern in &case.patterns {
                self.word(&pattern.value, Mode::Pattern);
            }
            if let Some(list) = &case.cmd {
                self.list(list);
            }
        }
    }

    fn if_clause(&mut self, clause: &ast::IfClauseCommand) {
        self.list(&clause.condition);
        self.list(&clause.then);
        for clause in clause.elses.iter().flatten() {
            if let Some(condition) = &clause.condition {
                self.list(condition);
            }
            self.list(&clause.body);
        }
    }

    fn function(&mut self, function: &ast::FunctionDefinition) {
        let name = function.fname.value.clone();
        if builtin::is_builtin(&name) || rules::is_known(&name) || name.contains(['$', '`', '\'', '"', '\\'])
        {
            self.unknown(format!("a function takes the place of {}", function.fname.value));
        }
        self.inside.push(name.clone());
        let outer = std::mem::take(&mut self.input);
        let ast::FunctionBody(body, redirects) = &function.body;
        self.input = Input::Nothing;
        self.redirected(redirects.as_ref(), |this| this.compound(body));
        self.input = outer;
        self.inside.pop();
        self.defined.insert(name);
    }

    fn test(&mut self, expr: &ast::ExtendedTestExpr) {
        match expr {
            ast::ExtendedTestExpr::And(left, right) | ast::ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => {
                self.test(inner);
            }
            ast::ExtendedTestExpr::UnaryTest(_, word) => {
                self.word(&word.value, Mode::Pattern);
            }
            ast::ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.word(&left.value, Mode::Pattern);
                self.word(&right.value, Mode::Pattern);
            }
        }
    }

    fn simple(&mut self, simple: &ast::SimpleCommand) {
        let mut input = self.input.clone();
        let mut words = Vec::new();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            if let ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) = item {
                let splits =
                    matches!(&assignment.name, ast::AssignmentName::VariableName(name) if name == "IFS");
                let read = simple.word_or_name.as_ref().is_some_and(|name| name.value == "read");
                self.assignment(assignment, splits && read);
            } else {
                self.item(item, &mut words, &mut input);
            }
        }
        if let Some(name) = &simple.word_or_name {
            let head = self.word(&name.value, Mode::Word);
            words.push(head);
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut words, &mut input);
        }
        self.call(&words, Lookup::Shell, input);
    }

    fn item(&mut self, item: &ast::CommandPrefixOrSuffixItem, words: &mut Vec<Arg>, input: &mut Input) {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                if let Some(given) = self.redirect(redirect) {
                    *input = given;
                }
            }
            ast::CommandPrefixOrSuffixItem::Word(word) => words.push(self.word(&word.value, Mode::Word)),
            ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                if matches!(assignment.value, ast::AssignmentValue::Array(_)) {
                    self.array(assignment);
                    words.push(Arg::hidden(&word.value));
                } else {
                    words.push(self.word(&word.value, Mode::Word));
                }
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                self.process(subshell);
                words.push(Arg::hidden("<(…)"));
            }
        }
    }

    fn process(&mut self, subshell: &ast::SubshellCommand) {
        let outer = std::mem::replace(&mut self.input, Input::Given);
        self.list(&subshell.list);
        self.input = outer;
    }

    fn assignment(&mut self, assignment: &ast::Assignment, fine: bool) {
        match &assignment.name {
            // `IFS= read` splits that one line and nothing else.
            ast::AssignmentName::VariableName(_) if fine => {}
            ast::AssignmentName::VariableName(name) => builtin::variable(self, name),
            ast::AssignmentName::ArrayElementName(name, index) => {
                builtin::variable(self, name);
                self.expanded(index);
            }
        }
        if let ast::AssignmentValue::Scalar(word) = &assignment.value {
            self.word(&word.value, Mode::Word);
        }
        self.array(assignment);
    }

    fn array(&mut self, assignment: &ast::Assignment) {
        if let ast::AssignmentValue::Array(elements) = &assignment.value {
            for (index, element) in elements {
                if let Some(index) = index {
                    self.expanded(&index.value);
                }
                self.word(&element.value, Mode::Word);
            }
        }
    }

    /// Looks at a redirection; gives back what it makes the standard input, if it does.
    fn redirect(&mut self, redirect: &ast::IoRedirect) -> Option<Input> {
        match redirect {
            ast::IoRedirect::File(fd, kind, target) => {
                self.file(kind, target);
                let reads = matches!(
                    kind,
                    ast::IoFileRedirectKind::Read
                        | ast::IoFileRedirectKind::ReadAndWrite
                        | ast::IoFileRedirectKind::DuplicateInput
                );
                (reads && fd.is_none_or(|fd| fd == 0)).then(|| read_from(target))
            }
            ast::IoRedirect::HereDocument(fd, document) => {
                let text = self.document(document);
                fd.is_none_or(|fd| fd == 0).then_some(text)
            }
            ast::IoRedirect::HereString(fd, word) => {
                let arg = self.word(&word.value, Mode::Word);
                let text = arg.literal().map_or(Input::Given, Input::Text);
                fd.is_none_or(|fd| fd == 0).then_some(text)
            }
            ast::IoRedirect::OutputAndError(word, _) => {
                let arg = self.word(&word.value, Mode::Word);
                self.written(&arg);
                None
            }
        }
    }

    fn document(&mut self, document: &ast::IoHereDocument) -> Input {
        if document.here_end.value.contains(['$', '`']) {
            self.unknown("a here-document ends at something that is expanded");
        }
        if !document.requires_expansion {
            return Input::Text(document.doc.value.clone());
        }
        if document.doc.value.contains("\\\n") {
            self.unknown("a here-document joins lines");
        }
        let arg = self.word(&document.doc.value, Mode::Body);
        arg.literal().map_or(Input::Given, Input::Text)
    }

    fn file(&mut self, kind: &ast::IoFileRedirectKind, target: &ast::IoFileRedirectTarget) {
        let reads = matches!(kind, ast::IoFileRedirectKind::Read | ast::IoFileRedirectKind::DuplicateInput);
        match target {
            ast::IoFileRedirectTarget::Fd(_) => {}
            ast::IoFileRedirectTarget::ProcessSubstitution(_, subshell) => self.process(subshell),
            ast::IoFileRedirectTarget::Filename(word) => {
                let arg = self.word(&word.value, Mode::Word);
                self.network(&arg);
                if reads {
                    peek::opened(self, &arg);
                } else {
                    self.written(&arg);
                }
            }
            ast::IoFileRedirectTarget::Duplicate(word) => {
                let arg = self.word(&word.value, Mode::Word);
                let descriptor = arg.known_start().0.chars().all(|char| char.is_ascii_digit() || char == '-');
                if !reads && !descriptor {
                    self.written(&arg);
                }
            }
        }
    }

    fn network(&mut self, arg: &Arg) {
        let (start, _) = arg.known_start();
        if start.starts_with("/dev/tcp") || start.starts_with("/dev/udp") {
            self.destructive(format!("{} opens a network connection", arg.shown()));
        }
    }

    fn written(&mut self, arg: &Arg) {
        self.network(arg);
        match place(arg) {
            Place::Temporary | Place::Loose => {}
            Place::Shared => self.out.shared = true,
            Place::Scratch | Place::Reports => {
                self.take(rules::in_scratch(format!("> {} writes", arg.shown())));
            }
            Place::Unsure => self.unknown(format!("> {} hides which file it writes", arg.shown())),
            Place::Outside => {
                self.note(Danger::Destructive, format!("> {} writes outside scratch", arg.shown()));
            }
        }
    }
}

/// A function that is defined whatever happens: alone in its list, not in the background.
fn sure_definition(item: &ast::CompoundListItem) -> Option<&ast::FunctionDefinition> {
    let ast::CompoundListItem(and_or, separator) = item;
    let alone = and_or.additional.is_empty() && matches!(separator, ast::SeparatorOperator::Sequence);
    match and_or.first.seq.as_slice() {
        [ast::Command::Function(function)] if alone => Some(function),
        _ => None,
    }
}

/// What a redirection from a file gives.
fn read_from(target: &ast::IoFileRedirectTarget) -> Input {
    let nothing = matches!(target, ast::IoFileRedirectTarget::Filename(word) if word.value == "/dev/null");
    if nothing { Input::Nothing } else { Input::Given }
}
