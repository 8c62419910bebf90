import type { NodeStore } from '../../store.ts';
import { askNode, beatNode, leaveNode, listNodes, pinSecret, readSetting, swapSetting } from '../verbs/admin/node.ts';
import type { StoreParts } from './store-parts.ts';

export function nodeStore({ calls, dedup }: StoreParts): NodeStore {
  return {
    nodeBeat: (beat) => calls.urgently((session) => beatNode(session, beat)),
    nodeList: () => calls.run(listNodes),
    nodeLeave: ({ id, incarnation }) => calls.run((session) => leaveNode(session, id, incarnation)),
    nodeRole: ({ id, role }) => calls.run((session) => askNode(session, id, role)),
    secretPin: ({ fingerprint, replace = false }) => calls.run((session) => pinSecret(session, fingerprint, replace)),
    settingRead: ({ name }) => calls.run((session) => readSetting(session, name)),
    settingSwap(swap) {
      const flushId = dedup.next();
      return calls.transaction((session) => swapSetting(session, flushId, swap));
    },
  };
}
