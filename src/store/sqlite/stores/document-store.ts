import type { DocumentStore } from '../../store.ts';
import {
  countDocuments,
  documentOfTask,
  getDocument,
  listDocuments,
  listTree,
  writeDocuments,
} from '../verbs/trees/document.ts';
import type { StoreParts } from './store-parts.ts';

export function documentStore({ calls, writer }: StoreParts): DocumentStore {
  return {
    documentWrite: (write) => calls.waking('push', (tx) => writeDocuments(tx, write)),
    documentTree: ({ root }) => writer.read(({ sql }) => listTree(sql, root)),
    documentGet: ({ ids }) => writer.read(({ sql }) => ids.map((id) => getDocument(sql, id))),
    documentOf: ({ tasks }) => writer.read(({ sql }) => tasks.map((task) => documentOfTask(sql, task))),
    documentList: (query) => writer.read(({ sql }) => listDocuments(sql, query)),
    documentCount: (filter) => writer.read(({ sql }) => countDocuments(sql, filter)),
  };
}
