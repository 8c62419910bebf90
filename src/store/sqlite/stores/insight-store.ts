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

export function insightStore({ writer }: StoreParts): InsightStore {
  return {
    taskCount: (query) => writer.read((connection) => countTasks(connection, query)),
    failureList: ({ before, limit }) => writer.read(({ sql }) => listFailures(sql, before, limit)),
    handlerQueues: ({ limit }) => writer.read(({ sql }) => handlerQueues(sql, limit)),
    viewPut: ({ view, most }) => writer.write('rest', (tx) => putView(tx, view, most)),
    viewList: () => writer.read(({ sql }) => listViews(sql)),
    viewDrop: ({ name }) => writer.write('rest', (tx) => dropView(tx, name)),
    schemaPut: ({ worker, schemas }) => writer.write('rest', (tx) => putSchemas(tx, worker, schemas)),
    schemaList: () => writer.read(({ sql }) => listSchemas(sql)),
  };
}
