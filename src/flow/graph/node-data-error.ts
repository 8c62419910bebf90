/** What a node says, or what came into it, cannot be worked with: another worker would find the same. */
export class NodeDataError extends Error {
  override readonly name = 'NodeDataError';
}
