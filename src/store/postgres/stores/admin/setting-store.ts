import type { SettingStore } from '../../../store.ts';
import { setNamed } from '../../verbs/admin/credential.ts';
import { forgetWorker } from '../../verbs/queue/worker.ts';
import { listHolders } from '../../verbs/queue/worker-name.ts';
import { listSettings } from '../../verbs/queue/worker-setting.ts';
import type { StoreParts } from '../store-parts.ts';

export function settingStore({ calls, dedup, hints }: StoreParts): SettingStore {
  return {
    workerSet: (setting) =>
      calls.edit('setting', (session) => setNamed(session, setting).then(() => null)).then(() => {}),
    workerSettings: () => calls.run(listSettings),
    workerForget({ name }) {
      const flushId = dedup.next();
      const forgotten = calls.transaction((session) => forgetWorker(session, flushId, name));
      return forgotten.finally(() => hints.everything());
    },
    nameHolders: ({ names }) => calls.run((session) => listHolders(session, names)),
    async nameLeave({ name, holder, process }) {
      await calls.run((session) => session.rows('nameLeave', [name, holder, process]));
    },
  };
}
