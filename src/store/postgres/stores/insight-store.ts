import type { InsightStore } from '../../store.ts';
import {
  countTasks,
  dropView,
  handlerQueues,
  listFailures,
  listSchemas,
  listViews,
  putSchemas,
  putView,
} from '../verbs/admin/insight.ts';
import type { StoreParts } from './store-parts.ts';

export function insightStore({ calls, dedup, schema }: StoreParts): InsightStore {
  return {
    taskCount: (query) => calls.run((session) => countTasks(session, schema, query)),
    failureList: ({ before, limit }) => calls.run((session) => listFailures(session, before, limit)),
    handlerQueues: ({ limit }) => calls.run((session) => handlerQueues(session, limit)),
    async viewPut({ view, most }) {
      const flushId = dedup.next();
      return (await calls.transaction((session) => putView(session, flushId, view, most))) ?? undefined;
    },
    viewList: () => calls.run(listViews),
    viewDrop({ name }) {
      const flushId = dedup.next();
      return calls.transaction((session) => dropView(session, flushId, name));
    },
    schemaPut: ({ worker, schemas }) => calls.run((session) => putSchemas(session, worker, schemas)),
    schemaList: () => calls.run(listSchemas),
  };
}
