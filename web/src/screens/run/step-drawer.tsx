/** The drawer of one step: what it was given, what it gave, the context after it, and what it used. */

import { exactStep, type RunDetail } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { kindWord, type StepRow, tookOf } from '../../model/run/rows.ts';
import { duration, exactTime } from '../../model/time.ts';
import { Link, segment } from '../../router.tsx';
import { Button } from '../../ui/buttons.tsx';
import { Drawer } from '../../ui/dialog.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { KeyValues } from '../../ui/layout.tsx';
import { State, WhenLoaded } from '../../ui/states.tsx';

export function StepDrawer({
  run,
  row,
  onClose,
  onFork,
}: {
  readonly run: RunDetail;
  readonly row: StepRow;
  readonly onClose: () => void;
  readonly onFork: (() => void) | undefined;
}) {
  const step = useResource(`step ${run.id} ${row.id}`, (signal) => exactStep(run.id, row.task, row.key, signal));
  return (
    <Drawer title={row.name} onClose={onClose}>
      <WhenLoaded of={step}>
        {(shown) => (
          <>
            {(row.child !== undefined || (shown.forkable && onFork !== undefined)) && (
              <div className="buttons">
                {shown.forkable && onFork !== undefined && (
                  <Button icon="fork" onClick={onFork}>
                    Fork from here
                  </Button>
                )}
                {row.child !== undefined && (
                  <Link className="button" to={`/runs/${segment(row.child)}`}>
                    Open the child
                  </Link>
                )}
              </div>
            )}
            <KeyValues
              of={[
                ['Kind', kindWord(shown.kind)],
                ['Key', <code key="k">{shown.key}</code>],
                shown.step !== undefined && ['Step', shown.step],
                shown.via !== undefined && shown.via.length > 0 && ['After', shown.via.join(', ')],
                shown.state !== undefined && ['Child', <State key="s" state={shown.state} />],
                shown.attempt > 0 && ['Attempt', shown.attempt],
                shown.began !== undefined && ['Began', exactTime(shown.began)],
                ['Written', exactTime(shown.at)],
                row.until !== undefined && ['Took', duration(tookOf(row, row.until))],
              ]}
            />
            {shown.given !== undefined && <JsonView label="Given" value={shown.given} />}
            {shown.out !== undefined && <JsonView label="Out" value={shown.out} />}
            {shown.usage !== undefined && <JsonView label="Usage" value={shown.usage} />}
            {shown.context !== undefined && <JsonView label="Context after it" value={shown.context} />}
            {shown.value !== undefined && shown.out === undefined && <JsonView label="Value" value={shown.value} />}
          </>
        )}
      </WhenLoaded>
    </Drawer>
  );
}
