//! Completion of the arguments of `--set` and `--vary` in shells, which ask the hidden command `flitwise __complete`.

use super::console::print;
use super::error::CliError;
use clap::Args;
use flitwise::config::{ExperimentKey, experiment_keys};

/// The name of the hidden command.
pub(super) const COMMAND: &str = "__complete";

/// Arguments of the hidden command.
#[derive(Debug, Args)]
pub struct CompleteArgs {
    /// The beginning of `KEY=VALUE` or `KEY=v1,v2`.
    token: String,
}

/// Prints a line for each way to complete the token.
pub(super) fn run(args: &CompleteArgs) -> Result<(), CliError> {
    let lines = candidates(&args.token, &experiment_keys());
    print(
        &lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    )
}

/// The tokens that begin with `token`: up to the value, or with a word in place of the last of its values.
fn candidates(token: &str, keys: &[ExperimentKey]) -> Vec<String> {
    let Some((typed, values)) = token.split_once('=') else {
        let keys = keys.iter().map(|key| indexed(&key.path, token) + "=");
        return keys.filter(|key| key.starts_with(token)).collect();
    };
    let Some(key) = keys.iter().find(|key| indexed(&key.path, typed) == typed) else {
        return Vec::new();
    };
    let (before, last) = match values.rsplit_once(',') {
        Some((before, last)) => (format!("{before},"), last),
        None => (String::new(), values),
    };
    let used: Vec<&str> = before.split(',').collect();
    let words = key.words.iter().map(|word| word.text.as_str());
    let fits = words.filter(|word| word.starts_with(last) && !used.contains(word));
    fits.map(|word| format!("{typed}={before}{word}")).collect()
}

/// The path of a key with the indices that `typed` has in place of 0.
fn indexed(path: &str, typed: &str) -> String {
    let is_index = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let mut typed = typed.split('.');
    let parts = path.split('.').map(|part| {
        let typed = typed.next().filter(is_index);
        typed.filter(|_| part == "0").unwrap_or(part)
    });
    parts.collect::<Vec<_>>().join(".")
}

/// The function that bash calls in place of the generated `_flitwise`. Behind `--set` and `--vary` it takes the whole token,
/// which bash itself splits at `=`.
pub(super) const BASH: &str = r#"
_flitwise_or_keys() {
    local line="${COMP_LINE:0:COMP_POINT}"
    local token="${line##*[[:space:]]}" before="${line%[[:space:]]*}"
    before="${before%"${before##*[![:space:]]}"}"
    case "$token" in
        --set=*|--vary=*) token="${token#*=}" ;;
        *)
            case "${before##*[[:space:]]}" in
                --set|--vary) ;;
                *) _flitwise "$@"; return ;;
            esac ;;
    esac
    local IFS=$'\n'
    COMPREPLY=( $("$1" __complete -- "$token" 2> /dev/null) )
    if [[ "$COMP_WORDBREAKS" == *=* ]]; then
        COMPREPLY=( "${COMPREPLY[@]#"${token%"${token##*=}"}"}" )
    fi
    compopt -o nospace 2> /dev/null
}
complete -o bashdefault -o default -F _flitwise_or_keys flitwise
"#;

/// The same for fish, which knows whole tokens.
pub(super) const FISH: &str = r#"
for option in set vary
    complete -c flitwise -l $option -x -a "(flitwise __complete -- (string replace -r -- '^--$option=' '' (commandline -ct)) 2> /dev/null)"
end
"#;

/// The function for zsh,
pub(super) const ZSH: &str = r#"
_flitwise_keys() {
    compset -P '--(set|vary)='
    compadd -S '' -- ${(f)"$(flitwise __complete -- "$PREFIX" 2> /dev/null)"}
}
"#;
/// and the action that the generated script calls for it in place of this one.
pub(super) const ZSH_ACTION: [&str; 2] = [":_default", ":_flitwise_keys"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_words_are_completed() {
        let keys = experiment_keys();
        let found = |token| candidates(token, &keys);
        assert_eq!(found(concat!("qos.", "sched")), ["qos.scheduler="]);
        assert_eq!(found("qos.scheduler=d"), ["qos.scheduler=dtable"]);
        assert_eq!(found("qos.scheduler=rr,s"), ["qos.scheduler=rr,sbt"]);
        assert!(!found("qos.scheduler=rr,").contains(&"qos.scheduler=rr,rr".to_owned()));
        assert_eq!(found("job.12.compute_sc"), ["job.12.compute_scale="]);
        assert!(found("job.3.placement=r").contains(&"job.3.placement=random".to_owned()));
        assert_eq!(found("no.such=x"), [""; 0]);
        assert!(found("").contains(&"job.0.trace=".to_owned()));
    }
}
