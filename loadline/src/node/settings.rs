//! `loadline config` and `loadline profile switch`

use super::args::{ConfigArgs, ConfigSubcommand, SwitchArgs};
use super::reach::{NodeArgs, meant};
use crate::failure::Failure;
use crate::show;
use loadline_cluster::settings::Settings;
use loadline_host::admin::api::{
    AlteredValue, Command, ConfigChanged, ConfigRow, ConfigRows, Explained, ExplainedLevel,
    ValueAsked, ValueLevel,
};
use loadline_qos::LOADLINE_PRESET;

/// The option that names an OSD's profile.
const PROFILE: &str = "osd_mclock_profile";

pub(crate) fn carry_out(args: ConfigArgs) -> Result<(), Failure> {
    let node = &args.node;
    let level = |runtime| if runtime { ValueLevel::Runtime } else { ValueLevel::Stored };
    match args.command {
        ConfigSubcommand::Show { who } => {
            let command = who.map_or(Command::ConfigDump, |who| Command::ConfigShow { who });
            node.show(&command, |rows: &ConfigRows| table(&rows.rows))
        }
        ConfigSubcommand::Get { who, option } => {
            let asked = Command::ConfigGet { who, option: option.clone() };
            with_nearest(&option, node.show(&asked, explanation))
        }
        ConfigSubcommand::Set { who, option, value, runtime } => {
            let to = ValueAsked { value, level: level(runtime) };
            let asked = Command::ConfigSet { who, option: option.clone(), to };
            with_nearest(&option, change(node, &asked))
        }
        ConfigSubcommand::Rm { who, option, runtime } => {
            let level = level(runtime);
            let asked = Command::ConfigRemove { who, option: option.clone(), level };
            with_nearest(&option, change(node, &asked))
        }
    }
}

/// What was refused of an option that does not exist, with the one that was probably meant. Of one that would have no effect a node says why.
fn with_nearest(option: &str, outcome: Result<(), Failure>) -> Result<(), Failure> {
    outcome.map_err(|failure| {
        let settings = Settings::on_a_loop(LOADLINE_PRESET, &[]);
        match settings.table().absent(option) {
            None => meant(failure, option, settings.table().names()),
            Some(_) => failure,
        }
    })
}

/// A profile is an option like others; all shards of an OSD take it in one step.
pub(crate) fn switch_profile(args: SwitchArgs) -> Result<(), Failure> {
    let to = ValueAsked { value: args.profile, level: ValueLevel::Stored };
    change(&args.node, &Command::ConfigSet { who: args.who, option: PROFILE.to_owned(), to })
}

fn change(node: &NodeArgs, command: &Command) -> Result<(), Failure> {
    node.show(command, changes)
}

fn changes(changed: &ConfigChanged) -> String {
    if changed.altered.is_empty() {
        let why = "it is so already, or waits for a restart, or another level hides it";
        return format!("no value in force is another now: {why}\n");
    }
    let row = |altered: &AlteredValue| {
        let osd = format!("osd.{}", altered.osd);
        [osd, altered.option.clone(), altered.before.clone(), altered.after.clone()]
    };
    let rows: Vec<[String; 4]> = changed.altered.iter().map(row).collect();
    show::table(["osd", "option", "was", "is"], &[1], &rows)
}

fn table(rows: &[ConfigRow]) -> String {
    let row = |row: &ConfigRow| {
        let later = row.after_restart.as_ref();
        let later = later.map_or(String::new(), |value| format!("after restart {value}"));
        [row.who.clone(), row.option.clone(), row.value.clone(), row.origin.clone(), later]
    };
    let rows: Vec<[String; 5]> = rows.iter().map(row).collect();
    show::table(["section", "option", "value", "from", ""], &[1, 3, 4], &rows)
}

fn explanation(explained: &Explained) -> String {
    let row = |level: &ExplainedLevel| {
        let value = level.value.clone().unwrap_or_else(|| "–".to_owned());
        [level.level.clone(), value]
    };
    let rows: Vec<[String; 2]> = explained.levels.iter().map(row).collect();
    let mut text = format!(
        "{} of {} is {} ({})\n",
        explained.option, explained.who, explained.value, explained.origin
    );
    if let Some(later) = &explained.after_restart {
        text += &format!("after a restart {later}\n");
    }
    format!("{text}\n{}", show::table(["level", "value"], &[], &rows))
}
