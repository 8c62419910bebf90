/** Placement of apflow. The rules are in core, because a node reads them too. */
export {
  type Capabilities,
  type PlacementConstraints,
  placementFromConstraints,
  tagsFromCapabilities,
} from '../../app/library/manual.ts';
