"""The GPUs the simulator knows: limits, clocks and what the driver says about them.

Only what the rules need. The figures are those of the vendor's specification tables and of
recorded ``agent_info`` files; fixed times are fitted to recorded kernels and say which.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Columns of ``agent_info.csv``, the same in every rocprofv3 so far.
AGENT_COLUMNS: tuple[str, ...] = (
    "Node_Id",
    "Logical_Node_Id",
    "Agent_Type",
    "Cpu_Cores_Count",
    "Simd_Count",
    "Cpu_Core_Id_Base",
    "Simd_Id_Base",
    "Max_Waves_Per_Simd",
    "Lds_Size_In_Kb",
    "Gds_Size_In_Kb",
    "Num_Gws",
    "Wave_Front_Size",
    "Num_Xcc",
    "Cu_Count",
    "Array_Count",
    "Num_Shader_Banks",
    "Simd_Arrays_Per_Engine",
    "Cu_Per_Simd_Array",
    "Simd_Per_Cu",
    "Max_Slots_Scratch_Cu",
    "Gfx_Target_Version",
    "Vendor_Id",
    "Device_Id",
    "Location_Id",
    "Domain",
    "Drm_Render_Minor",
    "Num_Sdma_Engines",
    "Num_Sdma_Xgmi_Engines",
    "Num_Sdma_Queues_Per_Engine",
    "Num_Cp_Queues",
    "Max_Engine_Clk_Ccompute",
    "Max_Engine_Clk_Fcompute",
    "Sdma_Fw_Version",
    "Fw_Version",
    "Capability",
    "Cu_Per_Engine",
    "Max_Waves_Per_Cu",
    "Family_Id",
    "Workgroup_Max_Size",
    "Grid_Max_Size",
    "Local_Mem_Size",
    "Hive_Id",
    "Gpu_Id",
    "Workgroup_Max_Dim_X",
    "Workgroup_Max_Dim_Y",
    "Workgroup_Max_Dim_Z",
    "Grid_Max_Dim_X",
    "Grid_Max_Dim_Y",
    "Grid_Max_Dim_Z",
    "Name",
    "Vendor_Name",
    "Product_Name",
    "Model_Name",
)
_AGENT_TEXTS = frozenset({"Agent_Type", "Name", "Vendor_Name", "Product_Name", "Model_Name"})


@dataclass(frozen=True, slots=True)
class Gpu:
    """One model GPU, as a single agent.

    Parameters
    ----------
    gfx, product, device_id, target_version
        Names and numbers by which the driver calls it.
    cus, xccs, engines, simds_per_cu, waves_per_simd, wave
        Compute units, compute dies and shader engines of the whole agent, SIMDs of one compute
        unit, wave slots of one SIMD, lanes of one wave.
    vgprs, vgpr_granule, lds_pool, lds_granule, lds_banks
        Register file of one SIMD (registers a lane) and LDS of one unit (bytes), how they are
        handed out, and the banks of the LDS.
    clock_ghz, memory_gbs, host_gbs
        Shader clock, device-memory and host-link rates that a good program reaches.
    read_request
        Bytes of one L1-to-L2 read request: 64 on gfx90a, else 128.
    launch_ns, idle_cycles
        Fixed time of a kernel, and cycles for which the graphics clock counter runs longer.
    """

    gfx: str
    product: str
    device_id: int
    target_version: int
    cus: int
    xccs: int
    engines: int
    simds_per_cu: int
    waves_per_simd: int
    wave: int
    vgprs: int
    vgpr_granule: int
    lds_pool: int
    lds_granule: int
    lds_banks: int
    clock_ghz: float
    memory_gbs: float
    host_gbs: float
    read_request: int
    launch_ns: int
    idle_cycles: int

    @property
    def rdna(self) -> bool:
        """Whether it has 32-lane waves and GL2C counters instead of TCC ones."""
        return self.wave == 32

    @property
    def agent(self) -> dict[str, int | str]:
        """What the driver reports for it: a value for each of `AGENT_COLUMNS`."""
        row = _agent(1, "GPU", self.gfx, "AMD", self.product)
        row |= {
            "Simd_Count": self.cus * self.simds_per_cu,
            "Simd_Id_Base": 2147487744,
            "Max_Waves_Per_Simd": self.waves_per_simd,
            "Lds_Size_In_Kb": self.lds_pool // 1024 if not self.rdna else 64,
            "Num_Gws": 64,
            "Wave_Front_Size": self.wave,
            "Num_Xcc": self.xccs,
            "Cu_Count": self.cus,
            "Array_Count": self.engines,
            "Num_Shader_Banks": self.engines,
            "Simd_Arrays_Per_Engine": 1,
            "Cu_Per_Simd_Array": -(-self.cus // self.engines),
            "Simd_Per_Cu": self.simds_per_cu,
            "Max_Slots_Scratch_Cu": 32,
            "Gfx_Target_Version": self.target_version,
            "Vendor_Id": 4098,
            "Device_Id": self.device_id,
            "Location_Id": 1280,
            "Drm_Render_Minor": 128,
            "Num_Sdma_Engines": 2,
            "Num_Sdma_Xgmi_Engines": 0 if self.rdna else 14,
            "Num_Sdma_Queues_Per_Engine": 8,
            "Num_Cp_Queues": 24,
            "Max_Engine_Clk_Ccompute": 3700,
            "Max_Engine_Clk_Fcompute": round(self.clock_ghz * 1000),
            "Sdma_Fw_Version": 20,
            "Fw_Version": 177,
            "Capability": 680812160,
            "Cu_Per_Engine": -(-self.cus // self.engines),
            "Max_Waves_Per_Cu": self.waves_per_simd * self.simds_per_cu,
            "Family_Id": 152 if self.rdna else 141,
            "Workgroup_Max_Size": 1024,
            "Grid_Max_Size": 4294967295,
            "Gpu_Id": 51345,
            "Model_Name": "ip discovery",
        }
        row |= {f"Workgroup_Max_Dim_{axis}": 1024 for axis in "XYZ"}
        row |= {"Grid_Max_Dim_X": 2147483647, "Grid_Max_Dim_Y": 65535, "Grid_Max_Dim_Z": 65535}
        return row


def host_agent() -> dict[str, int | str]:
    """Agent row of the processor, node 0."""
    row = _agent(0, "CPU", "Synthetic Host Processor", "CPU", "Synthetic Host Processor")
    return (
        row
        | {"Cpu_Cores_Count": 96, "Cu_Count": 96, "Num_Xcc": 1, "Family_Id": 26}
        | {"Max_Engine_Clk_Ccompute": 3700}
    )


def _agent(node: int, kind: str, name: str, vendor: str, product: str) -> dict[str, int | str]:
    row: dict[str, int | str] = {c: "" if c in _AGENT_TEXTS else 0 for c in AGENT_COLUMNS}
    row |= {"Node_Id": node, "Logical_Node_Id": node, "Agent_Type": kind}
    return row | {"Name": name, "Vendor_Name": vendor, "Product_Name": product}


#: ``launch_ns`` and ``idle_cycles`` of gfx942 are fitted to the recorded 3646 ns copy kernel and to
#: GRBM_GUI_ACTIVE of the recorded transposes (6182 to 6459 cycles more than time x clock, a die).
#: Other GPUs take the same launch time, a choice of ours. The rates are what AMD's acceptance tests
#: ask for where there are any (MI300X 4177, MI210 1230 GB/s; host link 55.7 and 28), else 75 % of
#: the data sheet.
GPUS: dict[str, Gpu] = {
    gpu.gfx: gpu
    for gpu in (
        Gpu("gfx942", "AMD Instinct MI300X", 29857, 90402, 304, 8, 32, 4, 8, 64, 512, 8, 65536, 512,
            32, 2.1, 4177.0, 55.7, 128, 3400, 6300),
        Gpu("gfx90a", "AMD Instinct MI210", 29711, 90010, 104, 1, 8, 4, 8, 64, 512, 8, 65536, 512,
            32, 1.7, 1230.0, 28.0, 64, 3400, 0),
        Gpu("gfx950", "AMD Instinct MI350X", 30112, 90500, 256, 8, 32, 4, 8, 64, 512, 8, 163840,
            1280, 64, 2.2, 6000.0, 55.7, 128, 3400, 6300),
        Gpu("gfx1201", "AMD Radeon RX 9070 XT", 30032, 120001, 64, 1, 4, 2, 16, 32, 1536, 24, 65536,
            1024, 32, 2.97, 480.0, 55.7, 128, 3400, 0),
    )
}  # fmt: skip
