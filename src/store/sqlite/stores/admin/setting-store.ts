import type { SettingStore } from '../../../store.ts';
import { setNamed } from '../../verbs/admin/credential.ts';
import { forgetWorker } from '../../verbs/queue/worker.ts';
import { listHolders } from '../../verbs/queue/worker-name.ts';
import { listSettings } from '../../verbs/queue/worker-setting.ts';
import type { StoreParts } from '../store-parts.ts';

export function settingStore({ calls, writer }: StoreParts): SettingStore {
  return {
    workerSet: (setting) => writer.write('rest', (tx) => setNamed(tx, setting)),
    workerSettings: () => calls.again('workerSettings', '', ({ sql }) => listSettings(sql)),
    workerForget: ({ name }) => writer.write('rest', (tx) => forgetWorker(tx, name)),
    nameHolders: ({ names }) => writer.read(({ sql }) => listHolders(sql, names)),
    nameLeave: ({ name, holder, process }) =>
      writer.write('rest', (tx) => void tx.sql.get('nameLeave').run(name, holder, process)),
  };
}
