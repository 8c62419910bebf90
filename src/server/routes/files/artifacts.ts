import { NO_CONTENT } from '../../http/answers.ts';
import type { Handlers } from '../../http/route-handler.ts';

/** The routes of bytes; those of what is known of them are the operator's. */
export const artifactRoutes: Handlers<'readArtifact' | 'sendBytes' | 'fetchBytes'> = {
  async readArtifact({ params: { id }, query: { inline }, door, request: { headers } }) {
    return door.sendKnown(id, { headers, inline });
  },

  sendBytes: ({ params: { id }, query, door, request, closing }) =>
    door.receive({ id, query, request: request.raw, closing }).then(() => NO_CONTENT),

  fetchBytes: ({ params: { id }, query, door, request: { headers } }) => door.sendSigned(id, query, headers),
};
