import type { DocumentAnswer, DocumentStore, DocumentWrite } from '../../store.ts';
import type { AllocatedIds } from '../verbs/queue/push.ts';
import {
  countDocuments,
  documentsOfTasks,
  getDocuments,
  listDocuments,
  listTree,
  writeDocuments,
} from '../verbs/trees/document.ts';
import type { StoreParts } from './store-parts.ts';

export function documentStore(parts: StoreParts): DocumentStore {
  const { calls } = parts;
  return {
    documentWrite: (write) => writeTree(parts, write),
    documentTree: ({ root }) => calls.run((session) => listTree(session, root)),
    documentGet: ({ ids }) => calls.run((session) => getDocuments(session, ids)),
    documentOf: ({ tasks }) => calls.run((session) => documentsOfTasks(session, tasks)),
    documentList: (query) => calls.run((session) => listDocuments(session, query)),
    documentCount: (filter) => calls.run((session) => countDocuments(session, filter)),
  };
}

async function writeTree(parts: StoreParts, write: DocumentWrite): Promise<DocumentAnswer> {
  const flushId = parts.dedup.next();
  const allocated: AllocatedIds = [];
  const answer = await parts.calls.transaction((session) => writeDocuments(session, parts, flushId, write, allocated));
  if (answer.ok && write.push !== undefined) parts.hints.pushed(write.push.items, answer.tasks);
  return answer;
}
