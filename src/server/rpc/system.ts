import type { RpcHandlers } from './context.ts';

export const systemMethods: RpcHandlers<'system.health' | 'system.executors'> = {
  async 'system.health'({ obstacles, version }) {
    const reasons = await obstacles();
    return { status: reasons.length === 0 ? 'healthy' : 'unhealthy', reasons, version };
  },

  async 'system.executors'({ engine, schemas }) {
    const { members } = await engine.store.workerFleet();
    const known = await schemas();
    const workers = new Map<string, Set<string>>();
    for (const { name, handlers, enabled } of members) {
      if (!enabled) continue;
      for (const handler of handlers) workers.set(handler, (workers.get(handler) ?? new Set()).add(name));
    }
    const executors = [...workers]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, names]) => ({
        id,
        name: id,
        workers: [...names].sort((a, b) => (a < b ? -1 : 1)),
        input_schema: Object.hasOwn(known, id) ? known[id] : null,
      }));
    return { executors, count: executors.length };
  },
};
