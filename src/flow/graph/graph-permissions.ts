import type { Permissions } from '../../core/placement/permissions.ts';
import type { Graph } from './definition.ts';

/** What a run of a graph needs where a worker of another host runs it: what its nodes ask for, and nothing besides. */
export function graphPermissions({ nodes }: Graph, queue: string): Permissions {
  const requests = nodes.flatMap(({ work }) => (work.do === 'task' ? [work.request] : []));
  const all = (of: (request: (typeof requests)[number]) => readonly string[]): readonly string[] => [
    ...new Set(requests.flatMap(of)),
  ];
  const tags = all(({ placement = {} }) => [
    ...(placement.requires ?? []),
    ...(placement.credentials ?? []).map((name) => `credential:${name}`),
  ]);
  const workers = all(({ placement = {} }) => placement.only ?? []);
  const limits = all(({ limits: uses = [] }) => uses.map((use) => (typeof use === 'string' ? use : use.name)));
  return {
    handlers: all(({ handler }) => [handler]),
    queues: all((request) => [request.queue ?? queue]),
    ...(tags.length === 0 ? {} : { tags }),
    ...(workers.length === 0 ? {} : { workers }),
    ...(limits.length === 0 ? {} : { limits }),
  };
}
