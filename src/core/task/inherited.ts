/** The name under which the input of a fork of a workflow in code carries what was recorded before it. */
export const INHERITED = 'leasehold.fork';
const QUOTED = JSON.stringify(INHERITED);

/** Whether the input carries such a record. Most texts of inputs do not have the name anywhere, so that nothing more is read. */
export function inherits(payload: string): boolean {
  if (!payload.includes(QUOTED)) return false;
  const input: unknown = JSON.parse(payload);
  return typeof input === 'object' && input !== null && !Array.isArray(input) && Object.hasOwn(input, INHERITED);
}
