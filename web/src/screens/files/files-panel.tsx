/** The panel of the artifacts of a task, or of all tasks of a run. One request says whether there is anything to show. */

import { memo } from 'react';
import { type Artifact, client } from '../../api.ts';
import { useResource } from '../../live/resource.ts';
import { Link, segment } from '../../router.tsx';
import { Panel } from '../../ui/layout.tsx';
import { Time } from '../../ui/times.tsx';
import { FileName, Size } from './columns.tsx';

const MOST = 8;
/** No event tells of an artifact. */
const EVERY_MS = 5_000;

/** Drawn anew only when its artifacts are: the pages around it are drawn often. */
export const FilesPanel = memo(function FilesPanel({
  of,
  id,
  live,
}: {
  readonly of: 'task' | 'run';
  readonly id: string;
  /** It may still leave something behind. */
  readonly live: boolean;
}) {
  const found = useResource(
    `artifacts of ${of} ${id} ${live ? 'so far' : 'in all'}`,
    (signal) => client.call('listArtifacts', { query: { [of]: id, limit: MOST + 1 }, signal }),
    live ? { everyMs: EVERY_MS } : {},
  );
  const artifacts = found.data?.artifacts ?? [];
  if (artifacts.length === 0) return null;
  const more = artifacts.length > MOST;
  return (
    <Panel
      title="Artifacts"
      count={more ? undefined : artifacts.length}
      actions={
        <Link to={`/artifacts?${of}=${segment(id)}`} className="link">
          {more ? 'All of them' : 'As a list'}
        </Link>
      }
    >
      <ul className="file-rows">
        {artifacts.slice(0, MOST).map((artifact) => (
          <li key={artifact.id}>
            <Row of={artifact} query={`${of}=${segment(id)}`} />
          </li>
        ))}
      </ul>
    </Panel>
  );
});

function Row({ of: artifact, query }: { readonly of: Artifact; readonly query: string }) {
  return (
    <Link to={`/artifacts/${segment(artifact.id)}?${query}`} className="file-row" title={artifact.name}>
      <FileName of={artifact} />
      <span className="quiet">{artifact.kind}</span>
      <span className="quiet num">
        <Size of={artifact.size} />
      </span>
      <span className="quiet num">
        <Time at={artifact.createdAt} />
      </span>
    </Link>
  );
}
