import { granted, type WorkerGrant } from '../../core/placement/worker-grant.ts';

/** What a session asks for with each claim. */
export interface ClaimFilter {
  readonly handlers?: readonly string[];
  readonly queues?: readonly string[];
  readonly token?: number;
}

/** What a worker may claim now: of what it asks for, what was granted to its name. Undefined: nothing. */
export function bounded(filter: ClaimFilter, grant: WorkerGrant): ClaimFilter | undefined {
  if (grant.handlers === undefined && grant.queues === undefined) return filter;
  const handlers = filter.handlers === undefined ? grant.handlers : granted(filter.handlers, grant.handlers);
  const queues = filter.queues === undefined ? grant.queues : granted(filter.queues, grant.queues);
  if (handlers?.length === 0 || queues?.length === 0) return undefined;
  return { ...filter, ...(handlers === undefined ? {} : { handlers }), ...(queues === undefined ? {} : { queues }) };
}
