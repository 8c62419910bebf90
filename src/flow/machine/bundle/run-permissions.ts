import type { Permissions } from '../../../core/placement/permissions.ts';
import { MACHINE_HANDLER } from '../machine-run.ts';

/** What a run of a machine needs where a worker of another host runs it: children beside itself, and the answers that it waits for. */
export function runPermissions(queue: string, waits: readonly string[]): Permissions {
  return { handlers: [MACHINE_HANDLER], queues: [queue], waits };
}
