//! How a study places objects and placement groups, as its file says it and as people read it.

use loadline_cluster::Placement;
use serde::Deserialize;
use std::str::FromStr;

/// How objects and placement groups are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PlacementName {
    /// Each OSD holds equally many groups, and each group equally many objects.
    #[default]
    Even,
    /// By the original's hashes: as uneven as the published clusters.
    Crush,
}

impl PlacementName {
    /// The placement of a cluster; what is kept on disks does not know the original's (`knows_crush`).
    pub(crate) fn of_cluster(self, knows_crush: bool) -> Placement {
        match self {
            PlacementName::Crush if knows_crush => Placement::Crush,
            PlacementName::Crush | PlacementName::Even => Placement::Even,
        }
    }
}

impl FromStr for PlacementName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<PlacementName, &'static str> {
        match text {
            "even" => Ok(PlacementName::Even),
            "crush" => Ok(PlacementName::Crush),
            _ => Err("takes `even` or `crush`"),
        }
    }
}

/// How a placement is told of.
pub(crate) fn placed(placement: &Placement) -> &'static str {
    match placement {
        Placement::Even => "evened out",
        Placement::Crush => "by the original's hash and CRUSH",
        Placement::Given(_) => "as those of the described cluster",
    }
}
