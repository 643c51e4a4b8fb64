//! Statistics of logs beside those of the script `cdl_prio_stats.sh`: stored output of the script for logs that are made
//! here, and the script itself where `LOADLINE_CDL_TOOLS` names the folder `benchmark` of its sources.

mod logs;
mod merged;
mod random;
mod reports;
mod script;
