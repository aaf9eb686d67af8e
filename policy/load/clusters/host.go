// SPDX-License-Identifier: Apache-2.0

package clusters

// Health is what Envoy knows against a host; 0 = nothing.
type Health uint16

// The flags, with the member of envoy.admin.v3.HostHealthStatus that they come from.
const (
	FailedActive   Health = 1 << iota // failed_active_health_check
	Ejected                           // failed_outlier_check
	Degraded                          // failed_active_degraded_check, or EDS says DEGRADED
	Unhealthy                         // EDS says UNHEALTHY, also for its TIMEOUT
	Draining                          // EDS says DRAINING
	PendingRemoval                    // pending_dynamic_removal: gone from EDS, still healthy
	PendingActive                     // pending_active_hc: not yet checked
	Excluded                          // excluded_via_immediate_hc_fail
	Timeout                           // active_hc_timeout: why the active check failed
)

// unusable are the flags with which Envoy's own load balancers leave a host out.
const unusable = FailedActive | Ejected | Unhealthy | Draining | Excluded

// Usable reports whether Envoy would send requests to the host (degraded ones come last).
func (h Health) Usable() bool { return h&unusable == 0 }

// Counter is a counter or gauge of a host, as Envoy names it.
type Counter uint8

// The counters. Active ones are gauges, the others grow until the host or Envoy goes.
const (
	RequestsActive    Counter = iota // rq_active
	RequestsPending                  // rq_pending_active (Envoy ≥ 1.40)
	RequestsTotal                    // rq_total
	RequestsSucceeded                // rq_success
	RequestsFailed                   // rq_error
	RequestsTimedOut                 // rq_timeout
	ConnectionsActive                // cx_active
	ConnectionsTotal                 // cx_total
	ConnectionsFailed                // cx_connect_fail
	counterCount
)

var counterNames = [counterCount]string{
	"rq_active", "rq_pending_active", "rq_total", "rq_success", "rq_error", "rq_timeout",
	"cx_active", "cx_total", "cx_connect_fail",
}

// Host is one host of a cluster. Its bytes are valid while the visitor runs.
type Host struct {
	Cluster int // index in Config.Clusters

	// Address is the host's address as override_host compares it: "10.0.0.1:8000",
	// "[2001:db8::1]:8000", "envoy://listener/endpoint" for internal listeners (Istio ambient:
	// "envoy://connect_originate/10.0.0.1:8000"), or a socket's path. Hosts found by DNS have
	// the resolved address here.
	Address  []byte
	Hostname []byte // the name that DNS or EDS gave, "" for none

	Health                Health
	Region, Zone, SubZone []byte
	Weight                uint32 // Envoy's load_balancing_weight, at least 1
	Priority              uint32

	counters [counterCount]uint64
	known    uint16
}

// Counter returns a counter, and whether the document has it. Envoy leaves out the value of a
// counter at 0; such a counter is known.
func (h *Host) Counter(c Counter) (v uint64, known bool) {
	if c >= counterCount || h.known&(1<<c) == 0 {
		return 0, false
	}
	return h.counters[c], true
}

func (h *Host) setCounter(c Counter, v uint64) {
	h.counters[c] = v
	h.known |= 1 << c
}
