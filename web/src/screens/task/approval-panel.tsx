/** The panel of an approval that this task waits for. */

import { client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { JsonView } from '../../ui/json-view.tsx';
import { Panel } from '../../ui/layout.tsx';
import { WhenLoaded } from '../../ui/states.tsx';
import { DecideForm } from './decide.tsx';

/** Context and form come from the list of approvals: the task itself has only title and actions. */
export function ApprovalPanel({
  id,
  wait,
  onDone,
}: {
  readonly id: string;
  readonly wait: { readonly title: string; readonly actions: readonly string[] };
  readonly onDone: () => void;
}) {
  const inbox = useResource('approvals', (signal) => client.call('listApprovals', { query: { limit: 200 }, signal }), {
    on: (event) => event.task === id,
  });
  const asked = inbox.data?.approvals.find((approval) => approval.id === id);
  return (
    <Panel title="To decide">
      <WhenLoaded of={inbox} rows={2}>
        {() => (
          <div className="panel-body stack">
            <DecideForm
              key={asked?.key}
              id={id}
              title={asked?.title ?? wait.title}
              actions={asked?.actions ?? wait.actions}
              form={asked?.form}
              onDone={onDone}
            />
            {asked?.context !== undefined && <JsonView label="Context" value={asked.context} />}
          </div>
        )}
      </WhenLoaded>
    </Panel>
  );
}
