/** The drawer of one entry: everything about it, and what the target was and became. */

import type { AuditEntry } from '../../api.ts';
import { diffOf } from '../../model/thing-diff.ts';
import { exactTime } from '../../model/time.ts';
import { Drawer } from '../../ui/dialog.tsx';
import { KeyValues, Panel } from '../../ui/layout.tsx';
import { actionWords, Outcome, Who } from './words.tsx';

export function EntryDrawer({ entry, onClose }: { readonly entry: AuditEntry; readonly onClose: () => void }) {
  const { id, at, endedAt, action, target, token, face, address, request, status, outcome } = entry;
  return (
    <Drawer title={`${actionWords(action)} ${target}`} onClose={onClose}>
      {outcome === 'began' && (
        <p className="quiet">The node wrote that this began, and nothing after it: it may have taken effect.</p>
      )}
      <Panel title="Entry">
        <div className="panel-body">
          <KeyValues
            of={[
              ['Number', id],
              ['Who', <Who key="who" of={entry} />],
              token !== undefined && ['Token', token],
              ['Action', action],
              [
                'Target',
                <span key="target" className="break">
                  {target === '' ? '–' : target}
                </span>,
              ],
              ['Outcome', <Outcome key="outcome" of={entry} />],
              status !== undefined && ['Status', status],
              ['Began', exactTime(at)],
              endedAt !== undefined && ['Ended', exactTime(endedAt)],
              ['Way', face],
              address !== undefined && ['Address', address],
              request !== undefined && [
                'Request',
                <span key="request" className="mono break">
                  {request}
                </span>,
              ],
            ]}
          />
        </div>
      </Panel>
      <Changes entry={entry} />
    </Drawer>
  );
}

function Changes({ entry: { before, after } }: { readonly entry: AuditEntry }) {
  const fields = diffOf(before, after);
  if (fields.length === 0) return null;
  return (
    <Panel title="Before and after" count={fields.filter(({ changed }) => changed).length}>
      <div className="table-wrap">
        <table className="table diff">
          <thead>
            <tr>
              <th>Field</th>
              <th>Before</th>
              <th>After</th>
            </tr>
          </thead>
          <tbody>
            {fields.map(({ field, before: was, after: is, changed }) => (
              <tr key={field} className={changed ? 'changed' : 'quiet'}>
                <th scope="row">{field}</th>
                <td className="break">{was === undefined ? '–' : changed ? <del>{was}</del> : was}</td>
                <td className="break">{is === undefined ? '–' : changed ? <ins>{is}</ins> : is}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
