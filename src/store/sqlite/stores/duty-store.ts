import type { DutyStore } from '../../store.ts';
import { type Renewal, releaseDuty, renewDuties, takeDuty } from '../verbs/admin/duty.ts';
import { listDuties } from '../verbs/admin/node.ts';
import type { StoreParts } from './store-parts.ts';

export function dutyStore({ writer }: StoreParts): DutyStore {
  /** Renewals that come before the writer runs share a statement. */
  const renewals = together((items: () => readonly Renewal[]) =>
    writer.write('rest', (tx) => renewDuties(tx, items()), { quiet: true }),
  );
  return {
    dutyTake: ({ name, holder, ttlMs }) => writer.write('rest', (tx) => takeDuty(tx, name, holder, ttlMs)),
    async dutyRenew(renewal) {
      const isHeld = await renewals(renewal);
      return isHeld(renewal);
    },
    dutyRelease: ({ duty }) => writer.write('rest', (tx) => releaseDuty(tx, duty)),
    async dutyList() {
      const now = writer.clock.lease();
      return writer.read(({ sql }) => ({ now, duties: listDuties(sql) }));
    },
  };
}

/** One call for all items that come before it runs. It may run more than once, with the same items. */
function together<I, A>(call: (items: () => readonly I[]) => Promise<A>): (item: I) => Promise<A> {
  let open: { readonly items: I[]; readonly answer: Promise<A> } | undefined;
  return (item) => {
    if (open === undefined) {
      const items: I[] = [];
      const close = (): readonly I[] => {
        open = undefined;
        return items;
      };
      open = { items, answer: call(close) };
    }
    open.items.push(item);
    return open.answer;
  };
}
