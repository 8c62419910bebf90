import type { NodeStore } from '../../store.ts';
import {
  askNode,
  beatNode,
  leaveNode,
  listNodes,
  pinSecret,
  readPin,
  readSetting,
  swapSetting,
} from '../verbs/admin/node.ts';
import type { StoreParts } from './store-parts.ts';

export function nodeStore({ calls, writer }: StoreParts): NodeStore {
  return {
    nodeBeat: (beat) => writer.write('rest', (tx) => beatNode(tx, beat)),
    async nodeList() {
      const now = writer.clock.lease();
      return writer.read(({ sql }) => ({ now, nodes: listNodes(sql) }));
    },
    nodeLeave: ({ id, incarnation }) => writer.write('rest', (tx) => leaveNode(tx, id, incarnation)),
    nodeRole: ({ id, role }) => writer.write('rest', (tx) => askNode(tx, id, role)),
    secretPin: ({ fingerprint, replace = false }) =>
      fingerprint === undefined
        ? writer.read(({ sql }) => readPin(sql))
        : writer.write('rest', (tx) => pinSecret(tx, fingerprint, replace)),
    settingRead: ({ name }) => calls.again('settingRead', name, ({ sql }) => readSetting(sql, name)),
    settingSwap: ({ name, before, value }) => writer.write('rest', (tx) => swapSetting(tx, name, before, value)),
  };
}
