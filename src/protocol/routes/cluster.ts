import { type Route, route } from '../route.ts';
import { Cluster, ClusterNode, NodeEdit } from '../shapes/cluster.ts';
import { API, oneNode } from './address.ts';

/** The nodes of the cluster and their roles. */
export const CLUSTER_ROUTES = {
  getCluster: route({
    method: 'GET',
    path: `${API}/cluster`,
    access: 'read',
    does: 'The nodes on this store, which of them leads, and who holds which duty',
    answer: Cluster,
  }),
  editNode: route({
    method: 'PATCH',
    path: `${API}/cluster/nodes/{id}`,
    access: 'operator',
    does: 'Gives a node another role, within two seconds; auto takes that back',
    params: oneNode,
    body: NodeEdit,
    answer: ClusterNode,
    onObserver: true,
  }),
} as const satisfies Record<string, Route>;
